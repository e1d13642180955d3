// SPDX-License-Identifier: MIT
// What is learnt: turns outputs and targets into a loss sum, its weight, and counts for evaluation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tensor/batch.hpp"

namespace lockstep::model {

/// Sums over the samples of a micro-batch; divided only after they were added up over all ranks.
struct Loss {
  torch::Tensor sum;  ///< scalar, differentiable; fp32, or fp64 of an fp64 model
  double weight = 0;  ///< samples or tokens that it covers
};

/// Integer counts, so that evaluation is the same for any number of ranks.
struct Counts {
  std::int64_t samples = 0;
  std::int64_t predictions = 0;  ///< what `correct` is out of: samples, or tokens (lm)
  std::int64_t correct = 0;
  double loss_sum = 0;
  double weight = 0;
};

/// Thread-safe: a task has no state.
class Task {
 public:
  virtual ~Task() = default;
  /// outputs as the network gave them. An empty batch gives a zero sum that is connected to the
  /// outputs.
  virtual Loss loss(const torch::Tensor& outputs, const Batch& batch) const = 0;
  /// The same loss, added up in double; needs no gradient.
  virtual Counts count(const torch::Tensor& outputs, const Batch& batch) const = 0;
  /// The weight that loss() would give, without running the model (known before backward).
  virtual double weight(const Batch& batch) const = 0;
};

/// Cross entropy over class labels (PyTorch's label smoothing); `correct` counts the largest logit.
/// outputs [N, K], targets [N] int64, weights [N] or undefined.
std::unique_ptr<Task> make_classification(double label_smoothing);

/// The target token that means "not counted", as in PyTorch.
inline constexpr std::int64_t kIgnoredToken = -100;

/// Cross entropy over the next token: outputs [N, T, V] or [N * T, V], targets [N, T] int64
/// (kIgnoredToken: left out), weights [N] or undefined, each for all tokens of its sample. The
/// weight is the number of tokens.
std::unique_ptr<Task> make_language_model(double label_smoothing);

/// What a data set's targets look like.
struct TargetInfo {
  bool integer = true;
  std::vector<std::int64_t> sample_shape;  ///< empty: a label; [T]: tokens
};

/// name: classification, lm, or auto: by the targets. Throws ConfigError where name and targets do
/// not go together.
std::unique_ptr<Task> make_task(const std::string& name,
                                const TargetInfo& targets,
                                double label_smoothing);

}  // namespace lockstep::model
