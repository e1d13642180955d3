// SPDX-License-Identifier: MIT
#include "launch/runtime.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "core/error.hpp"
#include "core/text.hpp"

namespace lockstep::launch {
namespace {

struct Mask {
  cpu_set_t set;
  Mask() {
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_SET(0, &set);
  }
};

// Fixed size, so that one all-gather carries it.
struct Found {
  int local_rank = 0;
  int local_ranks = 1;
  int node_lowest_rank = 0;
  int asked_threads = 0;
  std::array<char, 64> host{};
  cpu_set_t mask{};
};

int threads_asked_by_user() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  const int value = text == nullptr ? 0 : std::atoi(text);
  return std::max(0, value);
}

Found look_around(MPI_Comm world, int rank) {
  Found found;
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &found.local_rank);
  MPI_Comm_size(node, &found.local_ranks);
  MPI_Allreduce(&rank, &found.node_lowest_rank, 1, MPI_INT, MPI_MIN, node);
  MPI_Comm_free(&node);
  gethostname(found.host.data(), found.host.size() - 1);
  found.mask = Mask().set;
  found.asked_threads = threads_asked_by_user();
  return found;
}

// Cores are shared where masks overlap: each rank takes its fair part, at least one.
int fair_threads(int cores, int sharing) { return std::max(1, cores / std::max(1, sharing)); }

void set_default(const char* name, const char* value) { setenv(name, value, 0); }

}  // namespace

std::string launcher_contradiction(int ranks) {
  // Each launcher's own count of the ranks of this step.
  for (const char* name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE"}) {
    const char* text = std::getenv(name);
    if (text != nullptr && std::atoi(text) > ranks) return cat(name, "=", text);
  }
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  const char* step = std::getenv("SLURM_PROCID");
  const bool under_mpirun = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
  if (!under_mpirun && tasks != nullptr && step != nullptr && std::atoi(tasks) > ranks)
    return cat("SLURM_STEP_NUM_TASKS=", tasks);
  return "";
}

Runtime::Runtime() : owns_mpi_(true) {
  // Open MPI 4.1 loses bytes in collective writes with data sieving on, and its shared file
  // pointers can hang a later job.
  set_default("OMPI_MCA_fbtl_posix_write_datasieving", "0");
  set_default("OMPI_MCA_sharedfp", "^sm");
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &thread_level_);
  world_ = MPI_COMM_WORLD;
  discover();
}

Runtime::Runtime(MPI_Comm adopted) : world_(adopted) {
  MPI_Query_thread(&thread_level_);
  discover();
}

void Runtime::discover() {
  MPI_Comm_rank(world_, &rank_);
  MPI_Comm_size(world_, &ranks_);
  const Found mine = look_around(world_, rank_);
  std::vector<Found> found(static_cast<std::size_t>(ranks_));
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, found.data(), sizeof mine, MPI_BYTE, world_);
  std::vector<int> lowest;
  for (const auto& f : found) lowest.push_back(f.node_lowest_rank);
  std::sort(lowest.begin(), lowest.end());
  lowest.erase(std::unique(lowest.begin(), lowest.end()), lowest.end());
  nodes_ = static_cast<int>(lowest.size());
  for (int r = 0; r < ranks_; ++r) {
    const auto& f = found[static_cast<std::size_t>(r)];
    RankInfo info;
    info.rank = r;
    info.node = static_cast<int>(
        std::lower_bound(lowest.begin(), lowest.end(), f.node_lowest_rank) - lowest.begin());
    info.local_rank = f.local_rank;
    info.local_ranks = f.local_ranks;
    info.host = f.host.data();
    info.allowed_cores = CPU_COUNT(&f.mask);
    info.sharing_ranks =
        static_cast<int>(std::count_if(found.begin(), found.end(), [&](const Found& other) {
          cpu_set_t both;
          CPU_AND(&both, &f.mask, &other.mask);
          return other.node_lowest_rank == f.node_lowest_rank && CPU_COUNT(&both) > 0;
        }));
    info.threads = f.asked_threads > 0 ? f.asked_threads
                                       : fair_threads(info.allowed_cores, info.sharing_ranks);
    all_.push_back(info);
  }
}

Runtime::~Runtime() {
  if (!owns_mpi_) return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) MPI_Finalize();
}

std::string Runtime::mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view all(text.data(), static_cast<std::size_t>(length));
  return std::string(all.substr(0, all.find_first_of(",\n")));
}

}  // namespace lockstep::launch
