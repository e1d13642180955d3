// SPDX-License-Identifier: MIT
// What a checkpoint file holds and where, read once and handed to the other ranks as a text of
// bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"

namespace lockstep::checkpoint {

struct TensorPlace {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  ///< in the file; checked to lie inside it
  std::int64_t bytes = 0;
};

struct Contents {
  std::vector<TensorPlace> tensors;  ///< by name
  std::map<std::string, Scalar> scalars;
};

/// Reads the tree of a file, which is hostile until proved good: hard links only, contiguous
/// datasets of known types inside the file itself, bounded names, counts and depth. Throws
/// DataError naming file and object. Local, serial HDF5.
Contents read_contents(const std::string& path);

/// For a broadcast, and back.
std::string pack(const Contents& contents);
Contents unpack(const std::string& packed);

}  // namespace lockstep::checkpoint
