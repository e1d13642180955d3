// SPDX-License-Identifier: MIT
#include "comm/sums.hpp"

#include <bit>
#include <cmath>

namespace lockstep::comm {

float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value))
    return {static_cast<std::uint16_t>((bits >> 16) | 0x0040)};  // stays a NaN when cut
  return {static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)};
}

void sum_bf16(std::span<const BFloat16> all, std::span<BFloat16> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    float sum = 0;
    for (std::size_t at = i; at < all.size(); at += out.size()) sum += to_float(all[at]);
    out[i] = to_bfloat16(sum);
  }
}

}  // namespace lockstep::comm
