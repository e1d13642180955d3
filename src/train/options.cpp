// SPDX-License-Identifier: MIT
#include "train/options.hpp"

namespace lockstep::train {

void describe(config::OptionTable& table, Options& options) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  table.group("batch");
  table.integer("batch-size",
                options.batch_size,
                {.min = 1, .max = kMost, .help = "samples of one update over all devices"});
  table.integer(
      "batch-per-device",
      options.batch_per_device,
      {.min = 0, .max = kMost, .help = "instead: samples of one device and micro-step; 0: off"});
  table.integer("accumulate",
                options.accumulate,
                {.min = 1, .max = 1 << 20, .help = "micro-steps whose gradients make one update"});

  table.group("run");
  table.integer("epochs", options.epochs, {.min = 1, .max = kMost, .help = "passes over the data"});
  table.integer(
      "max-steps",
      options.max_steps,
      {.min = 0,
       .help = "stop after this many updates, counted from the run's start; 0: no limit"});
  config::Option every;
  every.name = "eval-every";
  every.value_hint = "500/10m/1e";
  every.help = "steps, minutes or epochs between evaluations; 0: only at the end";
  every.set = [&options](const std::string& text) { options.eval_every = parse_cadence(text); };
  every.get = [&options] { return std::vector{options.eval_every.text()}; };
  table.custom(std::move(every));
  table.integer("threads",
                options.threads,
                {.min = 0,
                 .max = 4096,
                 .help = "compute threads of a rank; 0: its cores / the ranks that share them"});
  table.flag("dry-run", options.dry_run, "set everything up, load one batch, train nothing");

  table.group("debugging");
  table.flag("dump-samples",
             options.dump_samples,
             "write the sample ids of every step to samples/rank-NNNN.txt");
}

}  // namespace lockstep::train
