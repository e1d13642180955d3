// SPDX-License-Identifier: MIT
// The options of the model group, and the model that a data set gets when none is named.
#include "model/network.hpp"

namespace lockstep::model {
namespace {

constexpr std::int64_t kSmallestPicture = 8;

}  // namespace

void describe(config::OptionTable& table, Options& options) {
  table.group("model");
  table.text("model",
             options.model,
             "NAME",
             "the network (--list-models); empty: cnn for pictures of 8x8 or more, else mlp");
  table.list("model-option",
             options.model_options,
             "NAME=VALUE",
             "one of the model's own options, as in width=64; may be repeated");
  table.list(
      "freeze",
      options.freeze,
      "PATTERN",
      "parameters that are not trained: a regular expression on the whole name; may be repeated");
  table.choice(
      "task",
      options.task,
      {"auto", "classification", "lm"},
      "what is learnt; auto: lm where a sample has a row of target tokens, else classification");
  table.real("label-smoothing",
             options.label_smoothing,
             {.min = 0, .max = 1, .help = "share of each target that is spread over all classes"});
}

std::string default_model(const std::vector<std::int64_t>& sample_shape) {
  const bool picture = sample_shape.size() == 3 && sample_shape[1] >= kSmallestPicture &&
                       sample_shape[2] >= kSmallestPicture;
  return picture ? "cnn" : "mlp";
}

}  // namespace lockstep::model
