// SPDX-License-Identifier: MIT
// A file as a list of pieces of memory, so that any block of it can be formed without reading the
// file. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/partition.hpp"

namespace lockstep::checkpoint {

/// Bytes of the file from `offset` on. The memory belongs to the caller.
struct Piece {
  std::int64_t offset = 0;
  std::span<const std::byte> bytes;
  std::int64_t end() const { return offset + static_cast<std::int64_t>(bytes.size()); }
};

/// The parts of [0, total) that none of `taken` covers, in order. `taken` in any order; throws
/// InternalError where two of them overlap or one reaches beyond the end. Empty ones are ignored.
std::vector<Range> gaps_between(std::vector<Range> taken, std::int64_t total);

/// Block `index` of a file, cut every kDigestBlockBytes.
Range block_range(std::int64_t index, std::int64_t file_bytes);

class FileImage {
 public:
  /// The pieces must cover `part` of the file without overlap; they may reach beyond it.
  FileImage(std::vector<Piece> pieces, Range part);

  /// The bytes of a range inside the part: a piece's own memory where one piece covers it, else put
  /// together in `scratch`, where they stay valid until its next use.
  std::span<const std::byte> bytes(Range range, std::vector<std::byte>& scratch) const;

 private:
  std::vector<Piece> pieces_;  // by offset
};

}  // namespace lockstep::checkpoint
