// SPDX-License-Identifier: MIT
#include "data/options.hpp"

#include <limits>

namespace lockstep::data {

void describe(config::OptionTable& table, Options& options) {
  table.group("data");
  table.text("data",
             options.data,
             "PATH",
             "training set: a folder of shards, one .h5 file or a quoted pattern; empty: the "
             "digits that come with Lockstep");
  table.text("eval-data",
             options.eval_data,
             "PATH",
             "evaluation set; empty: none (with the shipped digits: their test split)");
  table.choice(
      "shuffle",
      options.shuffle,
      {"full", "block", "none"},
      "order of samples; full: over the whole set, block: within groups of 64 x 16, none: as "
      "stored");
  table.choice(
      "tail",
      options.tail,
      {"keep", "drop", "wrap"},
      "the last, shorter step of an epoch; keep: taken, drop: left out, wrap: filled up from "
      "the epoch's start");
  table.integer("seed",
                options.seed,
                {.min = 0,
                 .max = std::numeric_limits<std::int64_t>::max(),
                 .help = "seed of the sample order and of everything random"});
  table.integer("reader-threads",
                options.reader_threads,
                {.min = 0, .max = 64, .help = "reader threads per rank; 0 reads inside the step"});
  table.integer("prefetch",
                options.prefetch,
                {.min = 1, .max = 1024, .help = "batches per rank that are read ahead"});
}

Shuffle parse_shuffle(const std::string& text) {
  return text == "full" ? Shuffle::kFull : text == "block" ? Shuffle::kBlock : Shuffle::kNone;
}

Tail parse_tail(const std::string& text) {
  return text == "keep" ? Tail::kKeep : text == "drop" ? Tail::kDrop : Tail::kWrap;
}

}  // namespace lockstep::data
