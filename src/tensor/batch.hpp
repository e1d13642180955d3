// SPDX-License-Identifier: MIT
// One rank's part of one step's samples.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace lockstep {

/// N = sample_ids.size() may be 0: a rank without samples still takes part in the step.
struct Batch {
  torch::Tensor inputs;   ///< [N, ...] fp32 (or int64 token ids)
  torch::Tensor targets;  ///< [N] int64 class labels; [N, T] tokens; [N, ...] fp32 for regression
  torch::Tensor weights;  ///< [N] fp32, or undefined: every sample counts 1
  std::vector<std::int64_t> sample_ids;

  std::int64_t size() const { return static_cast<std::int64_t>(sample_ids.size()); }
  /// Samples [begin, end) of this batch, as views.
  Batch slice(std::int64_t begin, std::int64_t end) const;
};

}  // namespace lockstep
