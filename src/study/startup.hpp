// SPDX-License-Identifier: MIT
// How long it takes from the launch of mpirun to the end of the first training step.
#pragma once

#include <string>
#include <vector>

#include "session/session.hpp"

namespace lockstep::study {

struct StartupOptions {
  std::string workload = "cnn";
  std::int64_t np = 2;
  std::int64_t reps = 5;
};

/// Seconds from launch to the end of the first step of the slowest rank, and until the launcher has
/// exited.
struct StartupTimes {
  std::vector<double> first_step_s;
  std::vector<double> whole_process_s;
};

/// Starts `mpirun -np N <this program> bench startup --child …` several times, after one that is
/// not counted. Must be called in a process that is alone. Throws IoError where a run fails.
StartupTimes measure_startup(const StartupOptions& options);

/// What the started ranks do: one step, then the wall time of its end on rank 0's stdout.
/// Collective.
void startup_child(const std::string& workload, session::Context context);

}  // namespace lockstep::study
