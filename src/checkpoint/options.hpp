// SPDX-License-Identifier: MIT
// --checkpoint-every and its kind.
#pragma once

#include <cstdint>
#include <string>

#include "config/option_table.hpp"
#include "core/duration.hpp"

namespace lockstep::checkpoint {

struct Options {
  Cadence checkpoint_every{Cadence::Unit::kEpochs, 1};
  std::int64_t keep = 2;        ///< newest checkpoints that retention leaves; 0: all
  std::string resume = "auto";  ///< "auto", "never", or the path of a checkpoint
};

void describe(config::OptionTable& table, Options& options);

}  // namespace lockstep::checkpoint
