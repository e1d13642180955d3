// SPDX-License-Identifier: MIT
// Which files make up a data set.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/index.hpp"

namespace lockstep::data {

/// The shards of a set in order, and its index where there is one.
struct Listing {
  std::vector<std::string> files;
  std::optional<Index> index;
};

/// Resolves what --data may be: a folder with an index, a folder of shards, one file, a pattern. A
/// link that the user names is followed; those inside a folder are not. Throws MissingInputError
/// where nothing is found, DataError for a wrong index.
Listing list_shards(const std::string& path);

}  // namespace lockstep::data
