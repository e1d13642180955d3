// SPDX-License-Identifier: MIT
// When to save, and what became of it. A failed save is a warning while the run goes on; the last
// one of a run must succeed.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/options.hpp"
#include "core/clock.hpp"

namespace lockstep::train {

class Saver {
 public:
  /// `folder`: where checkpoints go; `saved_step`: of the checkpoint that the run was resumed from,
  /// or -1.
  Saver(std::string folder,
        checkpoint::Options options,
        checkpoint::Provenance provenance,
        std::int64_t saved_step,
        comm::Communicator& communicator);

  /// Whether it is time after `step`. For minutes this rank's clock decides, so the answer must be
  /// agreed on.
  bool due(std::int64_t step, std::int64_t steps_per_epoch) const;

  enum class Failure { kWarn, kThrow };
  /// Saves unless this step is saved already. Returns whether the state of `step` is on disk.
  /// Collective.
  bool save(std::int64_t step,
            const checkpoint::State& state,
            const std::vector<int>& bucket_order,
            Failure on_failure);

  bool any() const { return saved_step_ >= 0; }
  std::int64_t saved_step() const { return saved_step_; }
  std::int64_t failures() const { return failures_; }
  const checkpoint::SaveResult& last() const { return last_; }

 private:
  std::string folder_;
  checkpoint::Options options_;
  checkpoint::Provenance provenance_;
  comm::Communicator& communicator_;
  std::int64_t saved_step_;
  std::int64_t failures_ = 0;
  Stopwatch since_;
  checkpoint::SaveResult last_;
};

}  // namespace lockstep::train
