// SPDX-License-Identifier: MIT
// Every room's options in one value, and the table that reads, prints and explains them.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/options.hpp"
#include "data/options.hpp"
#include "metrics/options.hpp"
#include "model/network.hpp"
#include "optim/optimizer.hpp"
#include "parallel/options.hpp"
#include "train/options.hpp"

namespace lockstep::session {

struct RunConfig {
  data::Options data;
  train::Options train;
  model::Options model;
  optim::Options optim;
  parallel::Options parallel;
  checkpoint::Options checkpoint;
  metrics::Options metrics;
  std::string run_dir;  ///< empty: the next free runs/MODEL-NNNN
  std::vector<std::string> allow_change;
};

/// Binds the table to the config; the config must outlive it and stay in place.
void describe(config::OptionTable& table, RunConfig& config);

}  // namespace lockstep::session
