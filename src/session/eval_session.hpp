// SPDX-License-Identifier: MIT
// The command eval: a checkpoint knows its model, so nothing but data is needed.
#pragma once

#include <string>

#include "session/session.hpp"

namespace lockstep::session {

struct EvalConfig {
  std::string checkpoint;  ///< file, or run folder
  std::string data;
  std::int64_t batch_size = 256;
  std::int64_t reader_threads = 1;
  std::int64_t threads = 0;
};

struct EvalResult {
  std::string checkpoint;
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  train::Evaluation evaluation;
};

/// Builds the model that the checkpoint names, loads it and counts over the data. Throws on all
/// ranks alike. Collective.
EvalResult evaluate_checkpoint(const EvalConfig& config, Context context);

}  // namespace lockstep::session
