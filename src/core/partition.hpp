// SPDX-License-Identifier: MIT
// Rank arithmetic: who owns which part of [0, total). Pure and constexpr.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lockstep {

/// A half-open range of global indices.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  constexpr std::int64_t size() const { return end - begin; }
  constexpr bool empty() const { return end <= begin; }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

/// Part `index` of `parts` nearly equal, contiguous parts; the first total % parts ones are one
/// longer. part_of(10, 4, i) = [0,3) [3,6) [6,8) [8,10).
constexpr Range part_of(std::int64_t total, std::int64_t parts, std::int64_t index) {
  const std::int64_t base = total / parts;
  const std::int64_t longer = total % parts;
  const std::int64_t begin = index * base + std::min(index, longer);
  return {begin, begin + base + (index < longer ? 1 : 0)};
}

/// The smallest multiple of `step` that is >= value.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

}  // namespace lockstep
