// SPDX-License-Identifier: MIT
// What the ranks bring to a collective, and what it must give: whole numbers so small that every
// sum is exact.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "comm/communicator.hpp"

namespace lockstep::test {

// One element, a few, none, and enough for several pieces of a transport that cuts.
inline constexpr std::array<std::size_t, 4> kSizes = {0, 1, 7, 1'000'003};

// What rank `rank` brings as element i.
inline std::int64_t input(std::size_t i, int rank) {
  return static_cast<std::int64_t>((i * 7 + static_cast<std::size_t>(rank) * 3) % 11);
}

inline std::int64_t expected(std::size_t i, int ranks, comm::Op op) {
  std::int64_t result = input(i, 0);
  for (int r = 1; r < ranks; ++r) {
    const auto value = input(i, r);
    result = op == comm::Op::kSum   ? result + value
             : op == comm::Op::kMax ? std::max(result, value)
                                    : std::min(result, value);
  }
  return result;
}

template <class T>
T make(std::int64_t value) {
  return static_cast<T>(value);
}
template <>
inline comm::BFloat16 make<comm::BFloat16>(
    std::int64_t value) {  // exact for whole numbers up to 256
  const float f = static_cast<float>(value);

  const auto bits = std::bit_cast<std::uint32_t>(f);
  return {static_cast<std::uint16_t>(bits >> 16)};
}
inline bool equal(comm::BFloat16 a, comm::BFloat16 b) { return a.bits == b.bits; }
template <class T>
bool equal(T a, T b) {
  return a == b;
}

template <class T>
std::vector<T> inputs(std::size_t n, int rank) {
  std::vector<T> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = make<T>(input(i, rank));
  return out;
}

}  // namespace lockstep::test
