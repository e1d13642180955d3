// SPDX-License-Identifier: MIT
#include <torch/version.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "comm/agree.hpp"
#include "commands/command.hpp"
#include "study/startup.hpp"

namespace lockstep::commands {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void print_row(const std::string& what,
               const study::StartupOptions& options,
               const std::vector<double>& seconds) {
  nlohmann::ordered_json row;
  row["bench"] = "startup";
  row["params"] = {{"what", what},
                   {"launch", "mpirun"},
                   {"np", options.np},
                   {"workload", options.workload},
                   {"steps", 1}};
  row["ms_min"] = *std::min_element(seconds.begin(), seconds.end()) * 1e3;
  row["ms_median"] = median(seconds) * 1e3;
  row["samples_per_s"] = nullptr;
  row["torch"] = TORCH_VERSION;
  row["threads"] = 1;
  row["world"] = options.np;
  row["reps"] = options.reps;
  std::cout << row.dump() << std::endl;
}

}  // namespace

ExitCode bench(Invocation& invocation) {
  study::StartupOptions options;
  bool child = false;
  config::OptionTable table;
  table.group("bench startup: from the launch of mpirun to the end of the first step");
  table.text("workload",
             options.workload,
             "NAME",
             "the model that is trained: cnn, 128 pictures of 28x28 a rank");
  table.integer("np", options.np, {.min = 1, .max = 1024, .help = "ranks"});
  table.integer(
      "reps",
      options.reps,
      {.min = 1, .max = 1000, .help = "launches that are counted, after one that is not"});
  table.flag("child", child, "internal: what the launched ranks do");
  std::vector<std::string> arguments;
  if (!read_options(invocation, command_named("bench"), table, 1, arguments))
    return ExitCode::kDone;
  comm::agree_on(invocation.context.communicator, [&] {
    if (arguments.empty() || arguments[0] != "startup") throw UsageError("bench measures: startup");
    if (!child && invocation.context.communicator.ranks() > 1)
      throw UsageError("bench startup launches its ranks itself: run it without mpirun");
  });
  if (child) {
    study::startup_child(options.workload, invocation.context);
    return ExitCode::kDone;
  }
  const auto times = study::measure_startup(options);
  print_row("first_step", options, times.first_step_s);
  print_row("whole_process", options, times.whole_process_s);
  return ExitCode::kDone;
}

}  // namespace lockstep::commands
