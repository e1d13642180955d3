// SPDX-License-Identifier: MIT
// Classification and next-token prediction are one loss: rows of logits against one class each.
// They differ in how a sample's rows are laid out and in whether a row may be left out.
#include <torch/torch.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "model/task.hpp"
#include "tensor/bridge.hpp"

namespace lockstep::model {
namespace {

// Losses are fp32 also where autocast made outputs of fewer bits; fp64 stays.
torch::Tensor widened(const torch::Tensor& outputs) {
  return outputs.scalar_type() == torch::kDouble ? outputs : outputs.to(torch::kFloat);
}

// M rows: logits [M, K] fp32, targets [M], weights [M] fp32 or undefined.
struct Rows {
  torch::Tensor logits, targets, weights;
};

class CrossEntropy : public Task {
 public:
  CrossEntropy(bool tokens, double label_smoothing)
      : tokens_(tokens), label_smoothing_(label_smoothing) {}

  Loss loss(const torch::Tensor& outputs, const Batch& batch) const override {
    if (batch.size() == 0) return {widened(outputs).sum(), 0};
    const Rows r = rows(outputs, batch);
    if (!r.weights.defined()) return {losses(r, at::Reduction::Sum), weight(batch)};
    return {(losses(r, at::Reduction::None) * r.weights).sum(), weight(batch)};
  }

  Counts count(const torch::Tensor& outputs, const Batch& batch) const override {
    if (batch.size() == 0) return {};
    const torch::NoGradGuard no_grad;
    const Rows r = rows(outputs, batch);
    torch::Tensor each = losses(r, at::Reduction::None).to(torch::kDouble);
    if (r.weights.defined()) each = each * r.weights;
    Counts counts;
    counts.samples = batch.size();
    counts.predictions = counted(batch);
    counts.correct = r.logits.argmax(1).eq(r.targets).sum().item<std::int64_t>();
    counts.loss_sum = each.sum().item<double>();
    counts.weight = weight(batch);
    return counts;
  }

  double weight(const Batch& batch) const override {
    if (batch.size() == 0) return 0;
    if (!batch.weights.defined()) return static_cast<double>(counted(batch));
    const torch::Tensor weights = batch.weights.to(torch::kDouble);
    if (!tokens_) return weights.sum().item<double>();
    return (weights * batch.targets.ne(kIgnoredToken).sum(1)).sum().item<double>();
  }

 private:
  // Labels are all counted: no look at their values, which may lie on a device.
  std::int64_t counted(const Batch& batch) const {
    return tokens_ ? batch.targets.ne(kIgnoredToken).sum().item<std::int64_t>()
                   : batch.targets.numel();
  }

  torch::Tensor losses(const Rows& r, at::Reduction::Reduction reduction) const {
    return at::cross_entropy_loss(r.logits,
                                  r.targets,
                                  {},
                                  reduction,
                                  kIgnoredToken,
                                  label_smoothing_);
  }

  Rows rows(const torch::Tensor& outputs, const Batch& batch) const {
    const torch::Tensor& targets = batch.targets;
    const std::int64_t classes = outputs.dim() > 0 ? outputs.size(-1) : 0;
    const bool shaped = targets.dim() == (tokens_ ? 2 : 1) && targets.size(0) == batch.size() &&
                        outputs.dim() >= 2 && outputs.dim() <= (tokens_ ? 3 : 2) &&
                        outputs.numel() == targets.numel() * classes;
    if (!shaped) {
      throw ConfigError(cat("task ",
                            tokens_ ? "lm needs outputs [N, T, V] for targets [N, T]"
                                    : "classification needs outputs [N, K] for targets [N]",
                            ", but the model gave ",
                            shape_text(outputs.sizes()),
                            " for targets ",
                            shape_text(targets.sizes()),
                            " of ",
                            batch.size(),
                            " samples"));
    }
    Rows out{widened(outputs.reshape({-1, classes})), targets.reshape({-1}), {}};
    if (batch.weights.defined()) {
      out.weights = tokens_ ? batch.weights.unsqueeze(1).expand(targets.sizes()).reshape({-1})
                            : batch.weights;
    }
    return out;
  }

  bool tokens_;
  double label_smoothing_;
};

}  // namespace

std::unique_ptr<Task> make_classification(double label_smoothing) {
  return std::make_unique<CrossEntropy>(false, label_smoothing);
}

std::unique_ptr<Task> make_language_model(double label_smoothing) {
  return std::make_unique<CrossEntropy>(true, label_smoothing);
}

}  // namespace lockstep::model
