// SPDX-License-Identifier: MIT
// Turns people's files into shards and an index.json. The same input gives the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lockstep::data {

struct PackOptions {
  std::string idx_images;  ///< IDX file, plain or gzip
  std::string idx_labels;
  std::string out;  ///< folder; made, must be empty or absent
  std::int64_t shards = 1;
  std::string split = "train";
  std::string name = "data";  ///< NAME-00000-of-00008.h5
  std::vector<std::string> class_names;
  std::string source;  ///< where the data come from, for the attribute of the same name
  std::string licence;
};

struct PackSummary {
  std::int64_t samples = 0;
  std::int64_t bytes_in = 0;
  std::int64_t bytes_out = 0;
  double seconds = 0;
  std::vector<std::int64_t> sample_shape;
  std::vector<std::int64_t> class_counts;
  std::vector<double> channel_mean, channel_std;
};

/// Reads the input twice: once to check all of it and to find mean and deviation, once to write.
/// `progress(done, total)` is called between pieces, in samples of both passes; it may be empty.
/// Writes to a temporary folder beside `out` and renames it at the end: an interrupted pack leaves
/// nothing that looks finished. Local, one rank's job. Throws UsageError, MissingInputError,
/// DataError, CannotCreateError (`out` is not empty), IoError.
PackSummary pack_idx(const PackOptions& options,
                     const std::function<void(std::int64_t, std::int64_t)>& progress);

}  // namespace lockstep::data
