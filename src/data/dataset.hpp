// SPDX-License-Identifier: MIT
// A data set on disk: a folder of HDF5 shards with an index.json, a folder without one, or one
// file; all checked before use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace lockstep::data {

/// How one dataset of one shard lies in its file. Enough to read samples by pread.
struct Column {
  std::string dataset;  ///< "images", "labels", "inputs/x"
  std::string dtype;    ///< "uint8", "int64", "float32", ...
  std::vector<std::int64_t> sample_shape;
  std::int64_t sample_bytes = 0;
  std::int64_t file_offset = 0;  ///< of sample 0 (contiguous layout)
};

struct Shard {
  std::string path;
  std::int64_t samples = 0;
  std::int64_t first_id = 0;  ///< global sample id of its first row
  std::int64_t file_bytes = 0;
  std::string digest;  ///< from index.json; empty without one
  Column input;
  Column target;
  std::int64_t digests_offset = -1;  ///< of /xxh3, one digest a sample; -1: the shard has none
};

/// What training needs to know of a set; the same on all ranks.
struct DataSet {
  std::string path;  ///< as the user gave it
  std::string split;
  std::vector<Shard> shards;
  std::int64_t samples = 0;
  std::vector<std::int64_t> sample_shape;  ///< [C, H, W] or [F]
  std::string input_dtype;
  std::int64_t num_classes = 0;
  std::vector<std::string> class_names;
  /// Of values / 255 for uint8 inputs; empty: inputs are used as they are. What is measured must be
  /// seen as what was trained: an evaluation set takes over the training set's figures.
  std::vector<double> channel_mean;
  std::vector<double> channel_std;
  std::uint64_t fingerprint = 0;  ///< of shard names, sizes, digests: changes when the set does
};

/// Opens and checks all shards (structure, sizes, labels in range against `num_classes` where > 0),
/// the shards dealt out over the ranks, and gives every rank the same description. Throws on all
/// ranks alike: MissingInputError, DataError with file, dataset, what was found and what is needed.
/// Collective.
DataSet open_data_set(const std::string& path,
                      comm::Communicator& communicator,
                      std::int64_t num_classes = 0);

/// The folder of the small real data set that Lockstep ships (digits), for runs without --data:
/// beside the installed program, else in the sources. Throws MissingInputError.
std::string shipped_data_set();

}  // namespace lockstep::data
