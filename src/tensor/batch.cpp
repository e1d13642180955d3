// SPDX-License-Identifier: MIT
#include "tensor/batch.hpp"

namespace lockstep {

Batch Batch::slice(std::int64_t begin, std::int64_t end) const {
  return {.inputs = inputs.slice(0, begin, end),
          .targets = targets.slice(0, begin, end),
          .weights = weights.defined() ? weights.slice(0, begin, end) : weights,
          .sample_ids = {sample_ids.begin() + begin, sample_ids.begin() + end}};
}

}  // namespace lockstep
