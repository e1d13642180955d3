// SPDX-License-Identifier: MIT
// Proof of which samples were used: a digest per epoch that is equal for any number of ranks, and
// an optional list.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "comm/communicator.hpp"
#include "data/loader.hpp"

namespace lockstep::train {

class SampleAudit {
 public:
  /// `list_path`: file for the ids of this rank, a line a step (step, then ids); empty: no list.
  /// Throws CannotCreateError.
  SampleAudit(const std::string& list_path, bool append);

  /// `share_begin`: position of the part's first sample in its epoch.
  void add(std::int64_t step, const data::LoadedBatch& loaded, std::int64_t share_begin);

  /// Sum over all samples of this epoch of a 64-bit digest of (position, id), modulo 2^64.
  /// Collective.
  std::uint64_t digest(comm::Communicator& communicator) const;
  std::int64_t samples() const { return samples_; }

  void start_epoch();
  /// Continues an epoch that another run began.
  void resume(std::uint64_t digest, std::int64_t samples);

 private:
  std::ofstream list_;
  std::uint64_t before_ = 0;  // of all ranks, from the checkpoint
  std::uint64_t mine_ = 0;
  std::int64_t samples_ = 0;  // of all ranks
};

}  // namespace lockstep::train
