// SPDX-License-Identifier: MIT
// What ranks find around themselves. The runtime adopts the communicator that the test's main made.
#include <sched.h>

#include <algorithm>

#include "launch/runtime.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"

using lockstep::launch::Runtime;
using lockstep::test::ScopedVariable;

namespace {

/// This thread may use one core only, for the length of a scope.
class OneCore {
 public:
  explicit OneCore(int index) {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0, seen = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &before_) && seen++ == index) CPU_SET(core, &one);
    }
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneCore() { sched_setaffinity(0, sizeof before_, &before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_;
};

int cores() {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  return CPU_COUNT(&mask);
}

}  // namespace

TEST_CASE("every rank sees the same table of all ranks", "[launch][mpi]") {
  const Runtime runtime(MPI_COMM_WORLD);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(runtime.rank() == rank);
  CHECK(runtime.ranks() == ranks);
  CHECK(runtime.thread_level() == MPI_THREAD_MULTIPLE);
  CHECK(runtime.nodes() == 1);
  REQUIRE(runtime.all().size() == static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    const auto& info = runtime.all()[static_cast<std::size_t>(r)];
    CHECK(info.rank == r);
    CHECK(info.local_rank == r);
    CHECK(info.local_ranks == ranks);
    CHECK(info.node == 0);
    CHECK_FALSE(info.host.empty());
    CHECK(info.threads >= 1);
  }
  CHECK(runtime.self().rank == rank);
}

TEST_CASE("cores are divided between the ranks that share them", "[launch][mpi][F04]") {
  const ScopedVariable unset("OMP_NUM_THREADS", nullptr);
  const Runtime runtime(MPI_COMM_WORLD);
  for (const auto& info : runtime.all()) {
    CHECK(info.allowed_cores == cores());
    CHECK(info.sharing_ranks == runtime.ranks());
    CHECK(info.threads == std::max(1, cores() / runtime.ranks()));
  }
}

TEST_CASE("ranks bound to one core each take one thread, and only those on the same core share",
          "[launch][mpi][F04]") {
  const ScopedVariable unset("OMP_NUM_THREADS", nullptr);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int all = cores();
  const OneCore bound(rank % all);
  const Runtime runtime(MPI_COMM_WORLD);
  for (const auto& info : runtime.all()) {
    CHECK(info.allowed_cores == 1);
    CHECK(info.threads == 1);
    const auto& others = runtime.all();
    CHECK(info.sharing_ranks == std::count_if(others.begin(), others.end(), [&](const auto& other) {
            return other.rank % all == info.rank % all;
          }));
  }
}

TEST_CASE("OMP_NUM_THREADS wins, where it is a number", "[launch][mpi][F04]") {
  {
    const ScopedVariable three("OMP_NUM_THREADS", "3");
    CHECK(Runtime(MPI_COMM_WORLD).self().threads == 3);
  }
  const ScopedVariable words("OMP_NUM_THREADS", "many");
  const Runtime runtime(MPI_COMM_WORLD);
  CHECK(runtime.self().threads == std::max(1, cores() / runtime.ranks()));
}

TEST_CASE("an adopted MPI stays up", "[launch][mpi]") {
  { const Runtime runtime(MPI_COMM_WORLD); }
  int finalized = 1;
  MPI_Finalized(&finalized);
  CHECK(finalized == 0);
  CHECK(Runtime::mpi_version().find('\n') == std::string::npos);
  CHECK_FALSE(Runtime::mpi_version().empty());
}
