// SPDX-License-Identifier: MIT
// Update rules on slices of raw fp32 memory. A rule is elementwise: any cutting of a parameter into
// slices gives the same bits, so strategies may share the work of a step between ranks as they
// like.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/option_table.hpp"

namespace lockstep::optim {

enum class Rule { kSgd, kAdam, kAdamW };

/// What a step needs besides the memory. As in PyTorch: torch.optim.SGD, Adam (L2 in the gradient),
/// AdamW (decoupled).
struct Hyper {
  Rule rule = Rule::kSgd;
  double lr = 0.01;
  double weight_decay = 0;
  double momentum = 0;  ///< SGD
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  ///< Adam, AdamW
};

/// One slice: n elements of a parameter, its gradient and its moments. Moments that the rule does
/// not use are null.
struct Slice {
  float* parameter = nullptr;
  const float* gradient = nullptr;
  float* moment1 = nullptr;  ///< momentum buffer, exp_avg
  float* moment2 = nullptr;  ///< exp_avg_sq
  std::int64_t n = 0;
};

/// Names of the moments that a rule keeps, by which checkpoints know them: {"momentum_buffer"},
/// {"exp_avg", "exp_avg_sq"}.
std::vector<std::string> moment_names(const Hyper& hyper);

/// One update. The gradient is multiplied by gradient_scale first (1 / total weight, clipping, loss
/// scale in one factor). `step` counts this group's updates from 1 (bias correction; the first step
/// of momentum). D. Kingma, J. Ba, "Adam", 2015; I. Loshchilov, F. Hutter, "Decoupled weight decay
/// regularization", 2019.
void update(const Slice& slice, const Hyper& hyper, std::int64_t step, double gradient_scale);

struct Options {
  std::string optimizer = "sgd";
  double lr = 0.01;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  std::string betas = "0.9,0.999";
  double eps = 1e-8;
  std::string lr_schedule = "constant";
  std::int64_t warmup_steps = 0;
  std::string lr_step;  ///< "30e,0.1"
  double lr_final = 0;
  double clip_norm = 0;  ///< 0: off
};
void describe(config::OptionTable& table, Options& options);
/// Checks what single options cannot (betas, nesterov without momentum, a schedule without its
/// parameters) and converts.
Hyper hyper_of(const Options& options);

/// The learning rate of a step, a pure function of the step number.
class Schedule {
 public:
  /// total_steps: where cosine and linear end; steps_per_epoch: for "30e". Throws ConfigError.
  Schedule(const Options& options, std::int64_t total_steps, std::int64_t steps_per_epoch);
  /// Rate of step `step` (counted from 0).
  double lr(std::int64_t step) const;

 private:
  Options options_;
  std::int64_t total_steps_;
  std::int64_t lr_step_every_ = 0;
  double lr_step_factor_ = 1;
};

}  // namespace lockstep::optim
