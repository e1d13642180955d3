// SPDX-License-Identifier: MIT
#include "train/batch_equation.hpp"

#include "core/error.hpp"
#include "core/partition.hpp"
#include "core/text.hpp"

namespace lockstep::train {

std::string BatchEquation::text() const {
  const auto parts = ranks * accumulate;
  const auto low = batch_size / parts, high = ceil_div(batch_size, parts);
  const auto ranks_text = cat(ranks, ranks == 1 ? " rank" : " ranks");
  const auto steps_text = accumulate == 1 ? std::string() : cat(" x ", accumulate, " micro-steps");
  return cat(batch_size,
             " samples a step = ",
             ranks_text,
             steps_text,
             " x ",
             low == high ? cat(low) : cat(low, "..", high));
}

BatchEquation solve_batch(std::int64_t batch_size,
                          bool batch_size_given,
                          std::int64_t batch_per_device,
                          std::int64_t ranks,
                          std::int64_t accumulate) {
  if (batch_per_device > 0) {
    if (batch_size_given)
      throw UsageError("--batch-size and --batch-per-device exclude each other; give one of them");
    batch_size = batch_per_device * ranks * accumulate;
  }
  if (batch_size < accumulate) {
    throw UsageError(cat("--accumulate ",
                         accumulate,
                         " needs at least as many samples a step; --batch-size is ",
                         batch_size));
  }
  return {batch_size, ranks, accumulate};
}

}  // namespace lockstep::train
