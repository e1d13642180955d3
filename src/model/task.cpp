// SPDX-License-Identifier: MIT
#include "model/task.hpp"

#include "core/error.hpp"
#include "core/text.hpp"
#include "tensor/bridge.hpp"

namespace lockstep::model {

std::unique_ptr<Task> make_task(const std::string& name,
                                const TargetInfo& targets,
                                double label_smoothing) {
  const std::string found = cat(targets.integer ? "integer" : "real",
                                " targets of shape ",
                                shape_text(targets.sample_shape),
                                " per sample");
  const bool labels = targets.integer && targets.sample_shape.empty();
  const bool tokens = targets.integer && targets.sample_shape.size() == 1;
  if (name == "auto" && !labels && !tokens) {
    throw ConfigError(cat("--task auto: no task for ",
                          found,
                          "; a label per sample is classification, a row of tokens lm"));
  }
  const std::string task = name != "auto" ? name : labels ? "classification" : "lm";
  if (task == "classification") {
    if (!labels)
      throw ConfigError(
          cat("--task classification needs one integer label per sample, but the data has ",
              found));
    return make_classification(label_smoothing);
  }
  if (task == "lm") {
    if (!tokens)
      throw ConfigError(
          cat("--task lm needs a row of integer tokens per sample, but the data has ", found));
    return make_language_model(label_smoothing);
  }
  throw ConfigError(cat("--task: '", name, "' is not one of auto, classification, lm"));
}

}  // namespace lockstep::model
