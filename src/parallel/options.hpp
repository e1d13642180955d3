// SPDX-License-Identifier: MIT
// --bucket-mb, --unused and their kind.
#pragma once

#include <string>

#include "config/option_table.hpp"

namespace lockstep::parallel {

struct Options {
  std::string mode = "ddp";
  double bucket_mb = 4;              ///< small ones are reduced while they are still in cache
  std::string reduce = "fast";       ///< exact: the same bits for any power of two of ranks
  std::int64_t slots = 8;            ///< virtual ranks of exact mode
  std::int64_t check_replicas = 0;   ///< steps between comparisons of the replicas; 0: off
  std::int64_t check_gradients = 0;  ///< steps between reports of gradient norms; 0: off
  std::string batch_norm = "local";  ///< sync: over the samples of all ranks
  std::string unused = "error";  ///< a parameter that got no gradient on a rank: error, or zeros
};

void describe(config::OptionTable& table, Options& options);

/// Throws UsageError where exact mode does not fit: slots no power of two, ranks that do not divide
/// them, accumulation.
void check_exact(const Options& options, std::int64_t ranks, std::int64_t accumulate);

}  // namespace lockstep::parallel
