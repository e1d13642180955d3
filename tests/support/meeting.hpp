// SPDX-License-Identifier: MIT
// After each test case the ranks meet at rank 0 under a time limit: it prints what the others had
// to report, and names the ranks that did not come. Point to point, for a collective could not say
// who is missing.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace lockstep::test {

/// What a rank brings along.
struct Outcome {
  std::string place;  ///< the test case; must be the same on all ranks
  bool failed = false;
  std::string report;  ///< what the reporter printed since the last meeting; looked at where failed
};

class Meeting {
 public:
  /// Collective.
  explicit Meeting(MPI_Comm parent);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// Collective; ends the job where a rank is missing or in another test case.
  void meet(const Outcome& mine);
  /// The ranks on which something failed so far; known on rank 0.
  const std::vector<int>& failed_ranks() const { return failed_ranks_; }

 private:
  void collect(const Outcome& mine);
  void deliver(const Outcome& mine);
  void take(int rank, const std::string& message, const Outcome& mine);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int ranks_ = 1;
  std::vector<int> failed_ranks_;
};

}  // namespace lockstep::test
