// SPDX-License-Identifier: MIT
// MPI's life, and what each rank finds around itself: nodes, local ranks, cores, threads.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace lockstep::launch {

/// One rank as the start table shows it.
struct RankInfo {
  int rank = 0;
  int node = 0;        ///< nodes are numbered by their lowest rank
  int local_rank = 0;  ///< within the node, by shared memory, never by a launcher's variable
  int local_ranks = 1;
  std::string host;
  int allowed_cores = 1;  ///< cores of this process's affinity mask
  int sharing_ranks = 1;  ///< ranks of the node whose mask overlaps with ours, ourselves included
  int threads = 1;        ///< threads that the rank uses for computing
};

/// Starts MPI, or adopts a communicator of a program that started it. Made first in main, destroyed
/// last. The constructor is collective over the ranks. Throws UsageError where the launcher says
/// there are more ranks than MPI sees (a wrong mpirun).
class Runtime {
 public:
  /// Sets the environment that Open MPI needs, then MPI_Init_thread(MULTIPLE). `threads` 0: cores
  /// of the mask divided by the ranks that share it; OMP_NUM_THREADS wins over that.
  Runtime();
  /// Uses the given communicator; MPI is up and stays up afterwards.
  explicit Runtime(MPI_Comm adopted);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  MPI_Comm world() const { return world_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// What MPI provided: MPI_THREAD_MULTIPLE or less.
  int thread_level() const { return thread_level_; }
  const RankInfo& self() const { return all_[static_cast<std::size_t>(rank_)]; }
  const std::vector<RankInfo>& all() const { return all_; }
  int nodes() const { return nodes_; }
  /// "Open MPI v4.1.4, ..." in one line.
  static std::string mpi_version();

 private:
  void discover();

  MPI_Comm world_ = MPI_COMM_NULL;
  bool owns_mpi_ = false;
  int rank_ = 0;
  int ranks_ = 1;
  int nodes_ = 1;
  int thread_level_ = 0;
  std::vector<RankInfo> all_;
};

/// Launcher variables that claim more ranks than `ranks`; empty where nothing contradicts. Pure but
/// for the environment.
std::string launcher_contradiction(int ranks);

}  // namespace lockstep::launch
