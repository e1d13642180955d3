// SPDX-License-Identifier: MIT
// A wrong mpirun starts n programs that each think they are alone: the launcher's variables give it
// away.
#include <deque>

#include "launch/runtime.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"

using lockstep::launch::launcher_contradiction;
using lockstep::test::ScopedVariable;

namespace {
/// No launcher at all, whatever started this test.
struct NoLauncher {
  std::deque<ScopedVariable> gone;
  NoLauncher() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE",
                             "PMI_SIZE",
                             "PMIX_SIZE",
                             "MV2_COMM_WORLD_SIZE",
                             "SLURM_STEP_NUM_TASKS",
                             "SLURM_PROCID",
                             "SLURM_NTASKS"}) {
      gone.emplace_back(name, nullptr);
    }
  }
};
}  // namespace

TEST_CASE("without a launcher nothing contradicts", "[launch]") {
  const NoLauncher none;
  CHECK(launcher_contradiction(1).empty());
}

TEST_CASE("a launcher of more ranks than MPI sees is named with its number", "[launch]") {
  const NoLauncher none;
  const ScopedVariable size("OMPI_COMM_WORLD_SIZE", "4");
  CHECK(launcher_contradiction(1) == "OMPI_COMM_WORLD_SIZE=4");
  CHECK(launcher_contradiction(4).empty());
  CHECK(launcher_contradiction(8).empty());  // adopted from a program that spawned more
}

TEST_CASE("MPICH's and Slurm's variables count too", "[launch]") {
  const NoLauncher none;
  {
    const ScopedVariable size("PMI_SIZE", "4");
    CHECK(launcher_contradiction(1) == "PMI_SIZE=4");
  }
  const ScopedVariable tasks("SLURM_STEP_NUM_TASKS", "4");
  CHECK(launcher_contradiction(1).empty());  // in the batch shell: nobody started us as a task
  const ScopedVariable id("SLURM_PROCID", "0");
  CHECK(launcher_contradiction(1) == "SLURM_STEP_NUM_TASKS=4");
}

TEST_CASE("mpirun inside a Slurm allocation is judged by mpirun's number", "[launch]") {
  const NoLauncher none;
  const ScopedVariable size("OMPI_COMM_WORLD_SIZE", "2");
  const ScopedVariable tasks("SLURM_STEP_NUM_TASKS", "8");
  const ScopedVariable id("SLURM_PROCID", "0");
  CHECK(launcher_contradiction(2).empty());
}
