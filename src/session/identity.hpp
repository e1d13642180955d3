// SPDX-License-Identifier: MIT
// Which run a checkpoint belongs to: the options that may not change by accident between a save and
// its resume.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "config/option_table.hpp"
#include "data/dataset.hpp"

namespace lockstep::session {

/// The values as scalars "meta/options/NAME"; `model` and `batch_size` are the resolved ones. The
/// number of epochs belongs to it only where the learning rate depends on it.
std::map<std::string, checkpoint::Scalar> identity_of(const config::OptionTable& table,
                                                      const data::DataSet& set,
                                                      const std::string& model,
                                                      std::int64_t batch_size);

/// What it takes to make a checkpoint's model again.
struct ModelIdentity {
  std::string model, task;
  std::vector<std::string> model_options;
  std::vector<std::int64_t> sample_shape;
  std::int64_t num_classes = 0;
  std::vector<double> channel_mean, channel_std;  ///< by which its inputs were normalised
};
/// Throws DataError where the scalars do not say it.
ModelIdentity model_of(const std::map<std::string, checkpoint::Scalar>& scalars);

/// One difference between a checkpoint and the present run.
struct Change {
  std::string option, saved, used;
};

std::vector<Change> changes(const std::map<std::string, checkpoint::Scalar>& saved,
                            const std::map<std::string, checkpoint::Scalar>& now);

/// Throws ConfigError with all changes that `allowed` does not name. Returns the table "checkpoint
/// -> used" of the others, empty where there are none.
std::string judge_changes(const std::vector<Change>& found,
                          const std::vector<std::string>& allowed);

}  // namespace lockstep::session
