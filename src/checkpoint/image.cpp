// SPDX-License-Identifier: MIT
#include "checkpoint/image.hpp"

#include <algorithm>
#include <cstring>

#include "core/check.hpp"
#include "core/digest.hpp"

namespace lockstep::checkpoint {

std::vector<Range> gaps_between(std::vector<Range> taken, std::int64_t total) {
  std::erase_if(taken, [](const Range& range) { return range.empty(); });
  std::sort(taken.begin(), taken.end(), [](const Range& a, const Range& b) {
    return a.begin < b.begin;
  });
  std::vector<Range> out;
  std::int64_t at = 0;
  for (const auto& range : taken) {
    LOCKSTEP_ASSERT(range.begin >= at && range.end <= total,
                    "range [",
                    range.begin,
                    ", ",
                    range.end,
                    ") after ",
                    at,
                    " of ",
                    total);
    if (range.begin > at) out.push_back({at, range.begin});
    at = range.end;
  }
  if (at < total) out.push_back({at, total});
  return out;
}

Range block_range(std::int64_t index, std::int64_t file_bytes) {
  return {index * kDigestBlockBytes, std::min((index + 1) * kDigestBlockBytes, file_bytes)};
}

FileImage::FileImage(std::vector<Piece> pieces, Range part) : pieces_(std::move(pieces)) {
  std::erase_if(pieces_, [](const Piece& piece) { return piece.bytes.empty(); });
  std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
    return a.offset < b.offset;
  });
  if (part.empty()) return;
  LOCKSTEP_ASSERT(
      !pieces_.empty() && pieces_.front().offset <= part.begin && pieces_.back().end() >= part.end,
      "pieces of [",
      part.begin,
      ", ",
      part.end,
      ")");
  for (std::size_t i = 1; i < pieces_.size(); ++i) {
    LOCKSTEP_ASSERT(pieces_[i - 1].end() == pieces_[i].offset,
                    "piece at ",
                    pieces_[i].offset,
                    " after ",
                    pieces_[i - 1].end());
  }
}

std::span<const std::byte> FileImage::bytes(Range range, std::vector<std::byte>& scratch) const {
  auto piece = std::partition_point(pieces_.begin(), pieces_.end(), [&](const Piece& p) {
    return p.end() <= range.begin;
  });
  LOCKSTEP_ASSERT(piece != pieces_.end() && piece->offset <= range.begin,
                  "no piece at ",
                  range.begin);
  if (piece->end() >= range.end) {
    return piece->bytes.subspan(static_cast<std::size_t>(range.begin - piece->offset),
                                static_cast<std::size_t>(range.size()));
  }
  scratch.resize(static_cast<std::size_t>(range.size()));
  for (std::int64_t at = range.begin; at < range.end; ++piece) {
    LOCKSTEP_ASSERT(piece != pieces_.end(), "no piece at ", at);
    const auto count = std::min(piece->end(), range.end) - at;
    std::memcpy(scratch.data() + (at - range.begin),
                piece->bytes.data() + (at - piece->offset),
                static_cast<std::size_t>(count));
    at += count;
  }
  return scratch;
}

}  // namespace lockstep::checkpoint
