// SPDX-License-Identifier: MIT
#include "metrics/options.hpp"

namespace lockstep::metrics {

void describe(config::OptionTable& table, Options& options) {
  table.group("run");
  table.integer("log-every",
                options.log_every,
                {.min = 0, .help = "steps between progress lines; 0: about every 10 s"});
  table.choice("progress",
               options.progress,
               {"auto", "bar", "lines", "none"},
               "auto: a bar on a terminal, lines in a file");
  for (const char* name : {"log-every", "progress"}) table.exclude_from_digest(name);
}

}  // namespace lockstep::metrics
