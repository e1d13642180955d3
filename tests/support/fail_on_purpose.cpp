// SPDX-License-Identifier: MIT
// Test cases that fail on one rank, run by fail_on_purpose_test.sh only: they prove that such
// failures are reported.
#include <mpi.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "support/catch.hpp"

namespace {
int rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
}  // namespace

TEST_CASE("a check fails on rank 1", "[check]") { CHECK(rank() + 40 != 41); }

TEST_CASE("a case after it still runs", "[check]") {
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(true);
}

TEST_CASE("rank 2 throws between two collectives", "[throw]") {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 2) throw std::runtime_error("thrown on purpose");
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("rank 1 never comes back", "[stuck]") {
  if (rank() == 1) std::this_thread::sleep_for(std::chrono::hours(1));
}

TEST_CASE("all is well", "[well]") { CHECK(rank() >= 0); }
