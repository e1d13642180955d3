// SPDX-License-Identifier: MIT
// Inputs of the tests of overridden operators: the same numbers on every rank, and the rank's part.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/ranks.hpp"
#include "tensor/bridge.hpp"
#include "tensor/op_context.hpp"

namespace lockstep::test {

/// Normal numbers, the same for the same (shape, seed) wherever they are drawn.
inline torch::Tensor normal(torch::IntArrayRef shape, std::uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  return torch::empty(shape, torch::kFloat64).normal_(0, 1, generator);
}

/// This rank's rows of `joined`: uneven; of four ranks the last has none.
inline torch::Tensor my_rows(const torch::Tensor& joined) {
  const std::vector<std::int64_t> cuts[] = {{0, 7}, {0, 5, 7}, {0, 1, 1, 7}, {0, 2, 3, 7, 7}};
  const auto& cut = cuts[world().ranks() - 1];
  const auto rank = static_cast<std::size_t>(world().rank());
  return joined.slice(0, cut[rank], cut[rank + 1]);
}

/// The sum over all ranks. Collective.
inline torch::Tensor summed(const torch::Tensor& mine) {
  auto sum = mine.to(torch::kFloat64).contiguous().clone();
  world().all_reduce(span_of<double>(sum), comm::Op::kSum);
  return sum;
}

/// Largest difference in relation to the largest expected value, or to 1.
inline double distance(const torch::Tensor& found, const torch::Tensor& expected) {
  if (found.sizes() != expected.sizes()) return INFINITY;
  if (found.numel() == 0) return 0;
  const auto want = expected.to(torch::kFloat64);
  const auto scale = std::max(1.0, want.abs().max().item<double>());
  const auto worst = (found.to(torch::kFloat64) - want).abs().max().item<double>();
  return std::isnan(worst) ? INFINITY : worst / scale;
}

/// Same shape, type and bits.
inline bool same_bits(const torch::Tensor& a, const torch::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && torch::equal(a, b);
}

}  // namespace lockstep::test
