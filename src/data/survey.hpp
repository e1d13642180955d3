// SPDX-License-Identifier: MIT
// The first pass of packing: checks all of the input before anything is written.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/idx.hpp"
#include "data/pack.hpp"

namespace lockstep::data {

using Progress = std::function<void(std::int64_t, std::int64_t)>;

inline constexpr std::int64_t kPieceBytes = 4 << 20;

/// Everything about the input that one pass can find.
struct Survey {
  std::vector<std::uint8_t> labels;
  std::vector<std::int64_t> sample_shape;
  std::vector<std::array<std::int64_t, 256>>
      histograms;  // one per channel: exact, in any order of reading
  std::vector<std::int64_t> class_counts;
  std::vector<double> mean, deviation;
  std::int64_t bytes_in = 0;
};

/// Calls use(first row, values) for all rows in pieces, then checks that the file ends there.
template <class Use>
void for_pieces(IdxFile& file, Use&& use) {
  const auto piece_rows = std::max<std::int64_t>(1, kPieceBytes / file.row_bytes());
  std::vector<std::uint8_t> values;
  for (std::int64_t first = 0; first < file.rows(); first += piece_rows) {
    const auto rows = std::min(piece_rows, file.rows() - first);
    values.resize(static_cast<std::size_t>(rows * file.row_bytes()));
    file.read(values);
    use(first, std::span<const std::uint8_t>(values));
  }
  file.finish();
}

/// Shape of a sample; pictures without a channel axis have one channel. Throws DataError for a file
/// of labels.
std::vector<std::int64_t> sample_shape_of(const IdxFile& images);

/// Reads both files to their ends. Throws as pack_idx() does.
Survey survey_input(const PackOptions& options, const Progress& progress);

}  // namespace lockstep::data
