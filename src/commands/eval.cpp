// SPDX-License-Identifier: MIT
#include <iostream>

#include "comm/agree.hpp"
#include "commands/command.hpp"
#include "core/text.hpp"
#include "metrics/jsonl.hpp"
#include "session/eval_session.hpp"

namespace lockstep::commands {
namespace {

void describe(config::OptionTable& table, session::EvalConfig& config) {
  table.group("evaluation");
  table.text("checkpoint",
             config.checkpoint,
             "FILE",
             "the checkpoint, or a run folder: then its newest that verifies");
  table.text("data",
             config.data,
             "PATH",
             "folder with index.json, folder of shards, or one .h5 file");
  table.integer("batch-size",
                config.batch_size,
                {.min = 1, .help = "samples at a time over all ranks; changes no result"});
  table.integer("reader-threads",
                config.reader_threads,
                {.min = 0, .max = 256, .help = "threads that read ahead"});
  table.integer("threads",
                config.threads,
                {.min = 0, .max = 4096, .help = "compute threads of a rank; 0: by its cores"});
}

}  // namespace

ExitCode eval(Invocation& invocation) {
  session::EvalConfig config;
  config::OptionTable table;
  describe(table, config);
  std::vector<std::string> arguments;
  if (!read_options(invocation, command_named("eval"), table, 0, arguments)) return ExitCode::kDone;
  session::compare_options(table, invocation.context.communicator);
  const auto result = session::evaluate_checkpoint(config, invocation.context);
  if (!invocation.leader()) return ExitCode::kDone;
  const auto& counts = result.evaluation.counts;
  std::cout << metrics::json_line("eval",
                                  {{"step", result.step},
                                   {"epoch", result.epoch},
                                   {"samples", counts.samples},
                                   {"loss", result.evaluation.loss()},
                                   {"correct", counts.correct},
                                   {"accuracy", result.evaluation.accuracy()},
                                   {"ms", result.evaluation.ms}})
            << std::endl;
  std::cerr << cat(result.checkpoint,
                   " on ",
                   config.data,
                   ": accuracy ",
                   brief(result.evaluation.accuracy()),
                   " (",
                   counts.correct,
                   " of ",
                   counts.predictions,
                   "), loss ",
                   brief(result.evaluation.loss()))
            << std::endl;
  return ExitCode::kDone;
}

}  // namespace lockstep::commands
