// SPDX-License-Identifier: MIT
// The skeleton of a checkpoint: an HDF5 file with all its metadata and scalars, in which tensors
// have their place and no data yet. HDF5 makes it in memory, for a close that fails on a full disk
// leaves HDF5 in a state that crashes the process later. What the tensors do not cover is kept, so
// that every byte of the finished file is known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"

namespace lockstep::checkpoint {

struct Skeleton {
  std::int64_t file_bytes = 0;
  std::vector<std::int64_t>
      offsets;  ///< of each tensor's data, by name; 0 where it has no elements
  std::string
      gaps;  ///< the bytes between tensors, one gap after the other in the order of the file
};

/// Pointers to the tensors in the order of their names, which is the order in the file.
std::vector<const NamedTensor*> by_name(const State& state);

/// Throws InternalError unless names are good and unique and all tensors are dense CPU tensors of
/// types that checkpoints hold: a caller's bug, found before anything is written.
void check_state(const State& state);

/// Bytes of the tensors, and a generous guess of the file around them.
std::int64_t estimate_bytes(const State& state);

/// Memory: that of the metadata, not of the tensors. Local.
Skeleton make_skeleton(const State& state);

}  // namespace lockstep::checkpoint
