// SPDX-License-Identifier: MIT
#include "checkpoint/options.hpp"

#include "core/error.hpp"

namespace lockstep::checkpoint {

void describe(config::OptionTable& table, Options& options) {
  table.group("checkpoint");
  config::Option every;
  every.name = "checkpoint-every";
  every.value_hint = "500/10m/1e";
  every.help = "steps, minutes or epochs between checkpoints; 0: only at the end";
  every.set = [&options](const std::string& text) {
    options.checkpoint_every = parse_cadence(text);
  };
  every.get = [&options] { return std::vector{options.checkpoint_every.text()}; };
  table.custom(std::move(every));
  table.integer("keep",
                options.keep,
                {.min = 0, .help = "newest checkpoints that are kept; 0: all"});
  config::Option resume;
  resume.name = "resume";
  resume.value_hint = "auto/never/PATH";
  resume.help =
      "auto: go on from the newest checkpoint in --run-dir that verifies; never: only a fresh run; "
      "PATH: from this checkpoint";
  resume.set = [&options](const std::string& text) {
    if (text.empty()) throw ConfigError("allowed: auto, never, or the path of a checkpoint");
    options.resume = text;
  };
  resume.get = [&options] { return std::vector{options.resume}; };
  table.custom(std::move(resume));
}

}  // namespace lockstep::checkpoint
