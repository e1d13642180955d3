// SPDX-License-Identifier: MIT
// A table with an option of each kind, and helpers that look at what it throws.
#pragma once

#include <string>
#include <vector>

#include "config/option_table.hpp"
#include "core/error.hpp"

namespace lockstep::test {

struct Sample {
  std::int64_t batch_size = 64;
  std::int64_t epochs = 1;
  double lr = 0.01;
  double clip_norm = 0;
  std::string data = "data/digits";
  std::string plugin;
  bool nesterov = false;
  std::string mode = "ddp";
  std::vector<std::string> freeze;
  std::int64_t log_every = 0;
  config::OptionTable table;

  Sample() {
    table.group("batch");
    table.integer("batch-size",
                  batch_size,
                  {.min = 1, .max = 1'000'000, .help = "samples of one update"});
    table.integer("epochs", epochs, {.min = 0, .help = "passes over the data"});
    table.group("optimiser");
    table.real("lr", lr, {.min = 0, .help = "learning rate"});
    table.real("clip-norm", clip_norm, {.min = 0, .help = "largest gradient norm; 0: off"});
    table.flag("nesterov", nesterov, "look ahead");
    table.group("run");
    table.text("data", data, "PATH", "data set");
    table.text("plugin", plugin, "FILE.so", "a plug-in");
    table.choice("mode", mode, {"ddp", "dp", "manual"}, "how to share the work");
    table.list("freeze", freeze, "PATTERN", "parameters that stay as they are");
    table.integer("log-every", log_every, {.min = 0, .help = "steps between lines"});
    table.exclude_from_digest("log-every");
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  std::vector<std::string> parse(const std::vector<std::string>& arguments) {
    return table.parse(arguments, warnings);
  }
  std::vector<std::string> warnings;
};

/// The error that parsing gives: "CODE text"; "" where it gives none.
inline std::string error_of(const std::vector<std::string>& arguments) {
  Sample sample;
  try {
    sample.parse(arguments);
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + " " + error.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace lockstep::test
