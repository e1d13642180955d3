// SPDX-License-Identifier: MIT
// --data, --shuffle and their kind.
#pragma once

#include <cstdint>
#include <string>

#include "config/option_table.hpp"
#include "data/sampler.hpp"

namespace lockstep::data {

struct Options {
  std::string data;       ///< empty: the shipped digits
  std::string eval_data;  ///< empty: no evaluation (with the shipped set: its test split)
  std::string shuffle = "full";
  std::string tail = "keep";
  std::int64_t seed = 1;
  std::int64_t reader_threads = 1;
  std::int64_t prefetch = 4;
};

void describe(config::OptionTable& table, Options& options);

/// The checked texts of --shuffle and --tail as values.
Shuffle parse_shuffle(const std::string& text);
Tail parse_tail(const std::string& text);

}  // namespace lockstep::data
