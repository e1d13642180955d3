// SPDX-License-Identifier: MIT
// Sums that transports form themselves.
#pragma once

#include <span>

#include "comm/communicator.hpp"

namespace lockstep::comm {

/// out[i] = the sum over the R runs of out.size() elements in `all`, formed in fp32 in rank order,
/// rounded once to nearest even. all.size() is a multiple of out.size(); out may be a copy's source
/// of one of the runs.
void sum_bf16(std::span<const BFloat16> all, std::span<BFloat16> out);

float to_float(BFloat16 value);
BFloat16 to_bfloat16(float value);

}  // namespace lockstep::comm
