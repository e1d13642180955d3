// SPDX-License-Identifier: MIT
// The check of one shard before anything is read from it: what is allowed is listed, all else is
// refused by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace lockstep::data {

/// The smallest or largest label of a shard and the first row that holds it.
struct LabelAt {
  std::int64_t value = 0;
  std::int64_t row = 0;
};

/// What one shard says about itself.
struct ShardReport {
  Shard shard;  ///< first_id and digest are not known here
  std::string split;
  std::int64_t num_classes = 0;  ///< of the root attribute; 0: absent
  std::vector<std::string> class_names;
  std::vector<double> channel_mean, channel_std;
  LabelAt lowest, highest;    ///< meaningless in an empty shard
  std::uint64_t content = 0;  ///< digest of the stored labels and sample digests
};

/// Opens, checks and closes a shard; reads all labels once. Accepted: a regular HDF5 file without
/// user block, hard links only, one input dataset (images, or the one in inputs/) of uint8 or
/// float32 and rank 2..8, one target dataset (labels, or the one in targets/) of integers and rank
/// 1, equal row counts; contiguous, unfiltered, native byte order, all inside the file. Throws
/// DataError with file, dataset, what was found and what is needed; MissingInputError.
ShardReport inspect_shard(const std::string& path);

/// Throws DataError naming `path` unless there are no channel figures at all, or one finite mean
/// and deviation for each of sample_shape[0] channels.
void check_channels(const std::string& path,
                    const std::vector<double>& mean,
                    const std::vector<double>& deviation,
                    const std::vector<std::int64_t>& sample_shape);

}  // namespace lockstep::data
