// SPDX-License-Identifier: MIT
// Carries out the reductions: on a communication thread where a core is free for it, else at once
// in the caller. MPI makes no progress on its own, so a thread with blocking calls is what overlaps
// communication with backward.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "comm/communicator.hpp"
#include "core/clock.hpp"

namespace lockstep::parallel {

/// Milliseconds since the step began: when a bucket was handed over, and when its sum was there.
struct BucketTiming {
  double ready_ms = 0;
  double done_ms = 0;
};

/// Used by one thread. Buffers must stay untouched between push() and wait().
class BucketChannel {
 public:
  /// `communicator` is for this channel alone.
  BucketChannel(std::unique_ptr<comm::Communicator> communicator, bool threaded);
  ~BucketChannel();
  BucketChannel(const BucketChannel&) = delete;
  BucketChannel& operator=(const BucketChannel&) = delete;

  /// Sums the span over all ranks, in place, after all that was pushed before. Collective in the
  /// order of the pushes.
  void push(std::span<float> bucket);
  /// Forgets the timings of the last step; its clock starts.
  void begin_step();
  /// Of the buckets pushed since begin_step(); read them after wait().
  const std::vector<BucketTiming>& timings() const { return timings_; }

  /// Returns when everything pushed is reduced; rethrows what the thread threw.
  void wait();

 private:
  void run();

  std::unique_ptr<comm::Communicator> communicator_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::span<float>> queue_;
  std::vector<BucketTiming> timings_;
  std::size_t reduced_ = 0;  // timings_ below this have their end
  Stopwatch since_begin_;
  std::size_t unfinished_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace lockstep::parallel
