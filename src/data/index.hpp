// SPDX-License-Identifier: MIT
// index.json, the table of contents of a packed data set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::data {

inline constexpr const char* kIndexName = "index.json";

struct Index {
  struct Entry {
    std::string file;  ///< a name in the index's folder
    std::int64_t samples = 0;
    std::int64_t bytes = 0;
    std::string digest;  ///< of the whole file: XXH3 over 1 MiB blocks, then over the list
  };
  std::string split;
  std::int64_t num_classes = 0;
  std::string dtype;
  std::vector<std::int64_t> shape;  ///< of a sample
  std::vector<std::string> class_names;
  std::vector<double> channel_mean, channel_std;
  std::vector<Entry> shards;
};

/// The text of index.json; equal for equal values.
std::string print_index(const Index& index);

/// Checks and reads what print_index() wrote; `path` is for messages. Throws DataError with the
/// field that is wrong.
Index parse_index(const std::string& text, const std::string& path);

}  // namespace lockstep::data
