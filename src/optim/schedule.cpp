// SPDX-License-Identifier: MIT
// The learning rate as a function of the step number alone: nothing to save, nothing that a resume
// could lose.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/check.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "optim/optimizer.hpp"

namespace lockstep::optim {
namespace {

constexpr std::int64_t kMostSteps = std::numeric_limits<std::int64_t>::max();

struct StepRule {
  std::int64_t every = 0;
  double factor = 1;
};

// "500,0.1" in steps, "30e,0.1" in epochs.
StepRule read_step_rule(const std::string& text, std::int64_t steps_per_epoch) {
  const std::vector<std::string> parts = split(text, ',');
  if (parts.size() != 2) {
    throw ConfigError(cat("--lr-step: '",
                          text,
                          "' is not N,FACTOR, as in 500,0.1 (steps) or 30e,0.1 (epochs); "
                          "--lr-schedule step needs it"));
  }
  std::string every = trim(parts[0]);
  const bool epochs = every.ends_with('e');
  if (epochs) every.pop_back();
  StepRule rule;
  try {
    rule.every = config::parse_integer(
        every,
        1,
        epochs ? kMostSteps / std::max<std::int64_t>(steps_per_epoch, 1) : kMostSteps);
    rule.factor = config::parse_real(trim(parts[1]), {.min = 0, .max = 1, .min_open = true});
  } catch (const Error& error) {
    throw ConfigError(cat("--lr-step: '", text, "': ", error.what()));
  }
  if (epochs) {
    LOCKSTEP_ASSERT(steps_per_epoch >= 1, "steps per epoch ", steps_per_epoch);
    rule.every *= steps_per_epoch;
  }
  return rule;
}

}  // namespace

Schedule::Schedule(const Options& options, std::int64_t total_steps, std::int64_t steps_per_epoch)
    : options_(options), total_steps_(total_steps) {
  const std::string& kind = options.lr_schedule;
  if (options.warmup_steps < 0) {
    throw ConfigError(
        cat("--warmup-steps: ", options.warmup_steps, " is not allowed; it must be at least 0"));
  }
  if (!(options.lr_final >= 0 && options.lr_final <= 1)) {
    throw ConfigError(
        cat("--lr-final: ", shortest(options.lr_final), " is not allowed; it must be in [0, 1]"));
  }
  if (kind == "step") {
    const StepRule rule = read_step_rule(options.lr_step, steps_per_epoch);
    lr_step_every_ = rule.every;
    lr_step_factor_ = rule.factor;
    return;
  }
  if (!options.lr_step.empty()) {
    throw ConfigError(
        cat("--lr-step ", options.lr_step, " needs --lr-schedule step, which is ", kind));
  }
  if (kind == "constant") return;
  if (kind != "cosine" && kind != "linear") {
    throw ConfigError(
        cat("--lr-schedule: '", kind, "' is not one of constant, step, cosine, linear"));
  }
  if (options.warmup_steps >= total_steps) {
    throw ConfigError(cat("--lr-schedule ",
                          kind,
                          " spans ",
                          total_steps,
                          " steps (--epochs), but --warmup-steps is ",
                          options.warmup_steps,
                          ": give more epochs or a shorter warm-up"));
  }
}

double Schedule::lr(std::int64_t step) const {
  LOCKSTEP_ASSERT(step >= 0, "step ", step);
  if (step < options_.warmup_steps) {
    return options_.lr * static_cast<double>(step + 1) / static_cast<double>(options_.warmup_steps);
  }
  if (options_.lr_schedule == "constant") return options_.lr;
  if (options_.lr_schedule == "step") {
    return options_.lr * std::pow(lr_step_factor_, static_cast<double>(step / lr_step_every_));
  }
  const double span = static_cast<double>(total_steps_ - options_.warmup_steps);
  const double done = std::min(1.0, static_cast<double>(step - options_.warmup_steps) / span);
  const double left =
      options_.lr_schedule == "cosine" ? (1 + std::cos(std::numbers::pi * done)) / 2 : 1 - done;
  return options_.lr * (options_.lr_final + (1 - options_.lr_final) * left);
}

}  // namespace lockstep::optim
