// SPDX-License-Identifier: MIT
// What a run says of itself before the first step.
#pragma once

#include <string>
#include <vector>

#include "config/option_table.hpp"
#include "data/dataset.hpp"
#include "launch/runtime.hpp"

namespace lockstep::session {

struct StartFacts {
  const launch::Runtime& runtime;
  const config::OptionTable& table;
  const data::DataSet& train_set;
  const data::DataSet* eval_set;
  std::string model;  ///< "cnn, 421,642 parameters in 8 tensors"
  std::string batch;
  std::string steps;
  std::string reduction;
  std::string folder;
  std::string resume;
};

std::string start_report(const StartFacts& facts);

/// 1234567 -> "1,234,567".
std::string grouped(std::int64_t value);

}  // namespace lockstep::session
