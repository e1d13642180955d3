// SPDX-License-Identifier: MIT
// How a run reports to people while it goes on. The file metrics.jsonl has every step, whatever is
// set here.
#pragma once

#include <cstdint>
#include <string>

#include "config/option_table.hpp"

namespace lockstep::metrics {

struct Options {
  std::int64_t log_every = 0;     ///< steps between progress lines; 0: by time, about every 10 s
  std::string progress = "auto";  ///< auto, bar, lines, none
};
void describe(config::OptionTable& table, Options& options);

}  // namespace lockstep::metrics
