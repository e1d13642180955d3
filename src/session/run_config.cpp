// SPDX-License-Identifier: MIT
#include "session/run_config.hpp"

namespace lockstep::session {

void describe(config::OptionTable& table, RunConfig& config) {
  // The order that --help shows; rooms add to these groups in whatever order they come.
  for (const char* group :
       {"data", "batch", "model", "optimiser", "parallel", "run", "checkpoint", "debugging"}) {
    table.group(group);
  }
  data::describe(table, config.data);
  train::describe(table, config.train);
  model::describe(table, config.model);
  optim::describe(table, config.optim);
  parallel::describe(table, config.parallel);
  metrics::describe(table, config.metrics);
  checkpoint::describe(table, config.checkpoint);
  table.list(
      "allow-change",
      config.allow_change,
      "NAME",
      "option whose value may differ from the checkpoint's at resume, as in lr; may be repeated");
  table.group("run");
  table.text(
      "run-dir",
      config.run_dir,
      "PATH",
      "folder of checkpoints and metrics, continued if it holds a run; empty: a fresh one, the "
      "next free runs/MODEL-NNNN");
}

}  // namespace lockstep::session
