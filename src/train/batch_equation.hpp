// SPDX-License-Identifier: MIT
// How many samples an update has, and how they came about: samples of a micro-step x ranks x
// micro-steps.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::train {

struct BatchEquation {
  std::int64_t batch_size = 0;  ///< samples of one update
  std::int64_t ranks = 1;
  std::int64_t accumulate = 1;

  /// "64 = 4 ranks x 16" or, where it does not divide, "10 = 4 ranks x 2..3"; micro-steps appear
  /// when there are several.
  std::string text() const;
};

/// Resolves --batch-size or --batch-per-device. Throws UsageError where both are given, or where an
/// update has fewer samples than micro-steps.
BatchEquation solve_batch(std::int64_t batch_size,
                          bool batch_size_given,
                          std::int64_t batch_per_device,
                          std::int64_t ranks,
                          std::int64_t accumulate);

}  // namespace lockstep::train
