// SPDX-License-Identifier: MIT
#include "support/meeting.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <set>
#include <sstream>
#include <thread>

#include "support/watchdog.hpp"

namespace lockstep::test {
namespace {

constexpr int kReportTag = 1;
constexpr int kGoOnTag = 2;

using Clock = std::chrono::steady_clock;

Clock::time_point in_seconds(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

std::string with_prefix(int rank, const std::string& text) {
  std::ostringstream out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out << "[rank " << rank << "] " << line << '\n';
  return out.str();
}

}  // namespace

Meeting::Meeting(MPI_Comm parent) {
  MPI_Comm_dup(parent, &comm_);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &ranks_);
}

Meeting::~Meeting() { MPI_Comm_free(&comm_); }

void Meeting::meet(const Outcome& mine) {
  if (rank_ == 0) {
    collect(mine);
  } else {
    deliver(mine);
  }
}

// Rank 0: everybody's outcome, in any order; then the word to go on.
void Meeting::collect(const Outcome& mine) {
  if (mine.failed) failed_ranks_.push_back(0);
  const auto end = in_seconds(test_limit_s());
  std::set<int> missing;
  for (int r = 1; r < ranks_; ++r) missing.insert(r);
  while (!missing.empty()) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    int found = 0;
    MPI_Improbe(MPI_ANY_SOURCE, kReportTag, comm_, &found, &message, &status);
    if (found) {
      int bytes = 0;
      MPI_Get_count(&status, MPI_CHAR, &bytes);
      std::string text(static_cast<std::size_t>(bytes), '\0');
      MPI_Mrecv(text.data(), bytes, MPI_CHAR, &message, MPI_STATUS_IGNORE);
      missing.erase(status.MPI_SOURCE);
      take(status.MPI_SOURCE, text, mine);
    } else if (Clock::now() > end) {
      std::ostringstream out;
      out << "[meeting] " << who(rank_, ranks_) << ": '" << mine.place
          << "' is over here, but not on rank";
      for (const int r : missing) out << ' ' << r;
      end_job(out.str());
    } else {
      pause();
    }
  }
  const char go_on = 1;
  for (int r = 1; r < ranks_; ++r) MPI_Send(&go_on, 1, MPI_CHAR, r, kGoOnTag, comm_);
}

// Message of a rank: failed or not, its test case, a zero byte, its report.
void Meeting::take(int rank, const std::string& message, const Outcome& mine) {
  const auto end_of_place = message.find('\0');
  const std::string place = message.substr(1, end_of_place - 1);
  if (message[0] == 'F') {
    failed_ranks_.push_back(rank);
    std::cout << with_prefix(rank, message.substr(end_of_place + 1)) << std::flush;
  }
  if (place != mine.place) {
    end_job("[meeting] rank 0 ends '" + mine.place + "', rank " + std::to_string(rank) + " ends '" +
            place + "'");
  }
}

// Another rank: reports, then waits for the word. A rank that failed waits less: its peers may wait
// for it inside the test case, and it is the one that knows why.
void Meeting::deliver(const Outcome& mine) {
  std::string message = (mine.failed ? "F" : "-") + mine.place + '\0';
  if (mine.failed) message += mine.report;
  const auto end = in_seconds(mine.failed ? test_limit_s() / 3 : test_limit_s() + 5);
  char go_on = 0;
  MPI_Request requests[2];
  MPI_Isend(message.data(),
            static_cast<int>(message.size()),
            MPI_CHAR,
            0,
            kReportTag,
            comm_,
            &requests[0]);
  MPI_Irecv(&go_on, 1, MPI_CHAR, 0, kGoOnTag, comm_, &requests[1]);
  for (int done = 0; !done;) {
    MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
    if (!done && Clock::now() > end) {
      end_job((mine.failed ? with_prefix(rank_, mine.report) : "") + "[meeting] " +
              who(rank_, ranks_) + ": '" + mine.place +
              (mine.failed ? "' failed here" : "' is over here") +
              ", and the other ranks are still in it");
    }
    if (!done) pause();
  }
}

}  // namespace lockstep::test
