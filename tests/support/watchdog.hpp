// SPDX-License-Identifier: MIT
// Every process watches itself: a test case that does not end in time is named, with rank, host and
// pid, and ends the job.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace lockstep::test {

/// Seconds that a test case may take: LOCKSTEP_TEST_LIMIT_S, 60 by default.
double test_limit_s();

/// "rank 1 of 3, host n01, pid 4711", for reports.
std::string who(int rank, int ranks);

/// Prints `text` on stderr at once and ends the job with code 75 after a second, in which the other
/// ranks can speak too.
[[noreturn]] void end_job(const std::string& text);

/// Made after MPI_Init_thread, destroyed before MPI_Finalize.
class Watchdog {
 public:
  Watchdog(int rank, int ranks);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// The clock starts again; `place` is what the report names. An empty place stops the clock.
  void enter(const std::string& place);

 private:
  void watch();

  const std::string who_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string place_;
  long entries_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace lockstep::test
