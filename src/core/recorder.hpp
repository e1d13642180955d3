// SPDX-License-Identifier: MIT
// What a rank is doing right now: step and phase, written by the training thread, read by whoever
// reports an error.
#pragma once

#include <atomic>
#include <cstdint>

namespace lockstep {

enum class Phase : int { kStart, kData, kForward, kBackward, kReduce, kUpdate, kSave, kEval, kEnd };

constexpr const char* phase_name(Phase phase) {
  constexpr const char* kNames[] =
      {"start", "data", "forward", "backward", "reduce", "update", "save", "eval", "end"};
  return kNames[static_cast<int>(phase)];
}

/// One per process. Stores are relaxed: a reader wants the place, not an order.
class Recorder {
 public:
  void enter(Phase phase) { phase_.store(phase, std::memory_order_relaxed); }
  void set_step(std::int64_t step) { step_.store(step, std::memory_order_relaxed); }
  Phase phase() const { return phase_.load(std::memory_order_relaxed); }
  std::int64_t step() const { return step_.load(std::memory_order_relaxed); }

 private:
  std::atomic<Phase> phase_{Phase::kStart};
  std::atomic<std::int64_t> step_{0};
};

}  // namespace lockstep
