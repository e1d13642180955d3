// SPDX-License-Identifier: MIT
// Time: a monotonic clock for durations, the wall clock for people.
#pragma once

#include <chrono>
#include <string>

namespace lockstep {

/// Seconds on a clock that never goes back; only differences mean anything.
inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Measures from its making, or from the last restart().
class Stopwatch {
 public:
  double seconds() const { return monotonic_seconds() - begin_; }
  double ms() const { return seconds() * 1e3; }
  void restart() { begin_ = monotonic_seconds(); }

 private:
  double begin_ = monotonic_seconds();
};

/// Now as "2026-12-01T15:04:05Z" (UTC).
std::string utc_now();

}  // namespace lockstep
