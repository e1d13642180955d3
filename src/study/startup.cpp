// SPDX-License-Identifier: MIT
#include "study/startup.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "core/text.hpp"
#include "io/file.hpp"
#include "study/workload.hpp"

namespace lockstep::study {
namespace {

constexpr std::string_view kMark = "first step ended at ";

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A started rank must not think that it belongs to the job of this process.
std::string launch_command(const StartupOptions& options) {
  const std::string root =
      geteuid() == 0 ? "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " : "";
  return cat("for v in $(env | grep -oE '^(OMPI|PMIX|PRTE)_[A-Za-z0-9_]*'); do unset $v; done; ",
             root,
             "OMP_NUM_THREADS=1 mpirun -np ",
             options.np,
             " --map-by :OVERSUBSCRIBE '",
             io::executable_path(),
             "' bench startup --child true --workload '",
             options.workload,
             "'");
}

struct Run {
  double first_step_s = 0, whole_s = 0;
};

Run run_once(const std::string& command) {
  const double begin = wall_seconds();
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw IoError("bench startup: cannot start a shell");
  std::string text;
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), n);
  const int status = pclose(pipe);
  Run run{0, wall_seconds() - begin};
  const auto at = text.find(kMark);
  if (status != 0 || at == std::string::npos)
    throw IoError(cat("bench startup: mpirun ended with status ",
                      WEXITSTATUS(status),
                      "; it printed: ",
                      text));
  run.first_step_s = std::atof(text.c_str() + at + kMark.size()) - begin;
  return run;
}

}  // namespace

StartupTimes measure_startup(const StartupOptions& options) {
  const auto command = launch_command(options);
  run_once(command);
  StartupTimes times;
  for (std::int64_t i = 0; i < options.reps; ++i) {
    const auto run = run_once(command);
    times.first_step_s.push_back(run.first_step_s);
    times.whole_process_s.push_back(run.whole_s);
  }
  return times;
}

void startup_child(const std::string& name, session::Context context) {
  session::set_threads(0, context.runtime.self());
  auto workload = make_workload(name, context.communicator.rank());
  const auto task = model::make_classification(0);
  const auto samples = workload.batch.size() * context.communicator.ranks();
  parallel::DdpEngine engine(*workload.network,
                             *task,
                             workload.hyper,
                             {.nominal_weight = static_cast<double>(samples)},
                             context.communicator,
                             context.recorder);
  engine.step({workload.batch, {workload.batch.size()}, context.communicator.rank()},
              workload.hyper);
  const double last = context.communicator.all_reduce(wall_seconds(), comm::Op::kMax);
  if (context.communicator.rank() == 0) {
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), "%.6f", last);
    std::cout << kMark << text.data() << std::endl;
  }
}

}  // namespace lockstep::study
