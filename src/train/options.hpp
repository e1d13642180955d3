// SPDX-License-Identifier: MIT
// The batch and run groups: --batch-size, --epochs and their kind.
#pragma once

#include <cstdint>

#include "config/option_table.hpp"
#include "core/duration.hpp"

namespace lockstep::train {

struct Options {
  std::int64_t batch_size = 64;
  std::int64_t batch_per_device = 0;  ///< 0: --batch-size rules
  std::int64_t accumulate = 1;
  std::int64_t epochs = 10;
  std::int64_t max_steps = 0;  ///< 0: no limit
  Cadence eval_every{Cadence::Unit::kEpochs, 1};
  std::int64_t threads = 0;  ///< 0: by the cores of the rank
  bool dry_run = false;
  bool dump_samples = false;
};

void describe(config::OptionTable& table, Options& options);

}  // namespace lockstep::train
