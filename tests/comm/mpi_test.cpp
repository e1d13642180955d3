// SPDX-License-Identifier: MIT
// The contract over MPI.
#include "comm/mpi/mpi_communicator.hpp"

#include "comm/contract.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {
void run(const std::vector<ContractCase>& cases) {
  for (const auto& one : cases) {
    Probe probe{world(), {}};
    one.run(probe);
    CAPTURE(one.name);
    CHECK(join(probe.wrong, "\n") == "");
  }
}
}  // namespace

TEST_CASE("the MPI transport reduces as the contract says", "[comm][mpi]") { run(reduce_cases()); }

TEST_CASE("the MPI transport moves data as the contract says", "[comm][mpi]") { run(move_cases()); }

TEST_CASE("ranks agree on failures over MPI", "[comm][mpi][L01]") { run(agree_cases()); }

TEST_CASE("a group may be a part of the world", "[comm][mpi]") {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  {
    const auto group = comm::make_mpi_communicator(half);
    MPI_Comm_free(&half);  // the communicator owns a duplicate
    CHECK(group->rank() == rank / 2);
    CHECK(group->all_reduce(std::int32_t{1}, comm::Op::kSum) == group->ranks());
  }
}

TEST_CASE("an MPI error carries the call's name and MPI's own text", "[comm][mpi]") {
  CHECK_NOTHROW(comm::check_mpi(MPI_SUCCESS, "MPI_Send"));
  CHECK(expect_error(
      world(),
      [] { comm::check_mpi(MPI_ERR_TRUNCATE, "MPI_Recv"); },
      ExitCode::kInternal,
      "MPI_Recv: MPI_ERR_TRUNCATE"));
}
