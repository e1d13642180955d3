// SPDX-License-Identifier: MIT
// Ten steps of our kernels beside torch::optim on the same gradients.
#include <torch/torch.h>

#include "optim/optimizer.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using optim::Hyper;
using optim::Rule;

namespace {

constexpr std::int64_t kElements = 517;
constexpr int kSteps = 10;

std::unique_ptr<torch::optim::Optimizer> reference(const Hyper& h, const torch::Tensor& parameter) {
  const std::vector<torch::Tensor> list{parameter};
  const std::tuple<double, double> betas{h.beta1, h.beta2};
  switch (h.rule) {
    case Rule::kSgd:
      return std::make_unique<torch::optim::SGD>(list,
                                                 torch::optim::SGDOptions(h.lr)
                                                     .momentum(h.momentum)
                                                     .weight_decay(h.weight_decay)
                                                     .nesterov(h.nesterov));
    case Rule::kAdam:
      return std::make_unique<torch::optim::Adam>(
          list,
          torch::optim::AdamOptions(h.lr).betas(betas).eps(h.eps).weight_decay(h.weight_decay));
    case Rule::kAdamW:
      return std::make_unique<torch::optim::AdamW>(
          list,
          torch::optim::AdamWOptions(h.lr).betas(betas).eps(h.eps).weight_decay(h.weight_decay));
  }
  return nullptr;
}

// The largest difference after each of the steps, of values of about 1.
double worst_difference(const Hyper& hyper) {
  torch::manual_seed(3);
  torch::Tensor theirs = torch::randn({kElements}).set_requires_grad(true);
  torch::Tensor ours = theirs.detach().clone();
  torch::Tensor moment1 = torch::zeros({kElements}), moment2 = torch::zeros({kElements});
  auto optimizer = reference(hyper, theirs);
  double worst = 0;
  for (int step = 1; step <= kSteps; ++step) {
    torch::Tensor gradient = torch::randn({kElements});
    theirs.mutable_grad() = gradient.clone();
    optimizer->step();
    optim::update({ours.data_ptr<float>(),
                   gradient.const_data_ptr<float>(),
                   moment1.data_ptr<float>(),
                   moment2.data_ptr<float>(),
                   kElements},
                  hyper,
                  step,
                  1.0);
    worst = std::max(worst, (theirs.detach() - ours).abs().max().item<double>());
  }
  return worst;
}

}  // namespace

TEST_CASE("sgd equals PyTorch's", "[optim]") {
  CHECK(worst_difference({.rule = Rule::kSgd, .lr = 0.1}) <= 1e-6);
  CHECK(worst_difference({.rule = Rule::kSgd, .lr = 0.1, .weight_decay = 0.01}) <= 1e-6);
  CHECK(worst_difference({.rule = Rule::kSgd, .lr = 0.1, .momentum = 0.9}) <= 1e-6);
  CHECK(worst_difference({.rule = Rule::kSgd,
                          .lr = 0.1,
                          .weight_decay = 0.01,
                          .momentum = 0.9,
                          .nesterov = true}) <= 1e-6);
}

TEST_CASE("adam and adamw equal PyTorch's", "[optim]") {
  for (const Rule rule : {Rule::kAdam, Rule::kAdamW}) {
    CHECK(worst_difference({.rule = rule, .lr = 0.01}) <= 1e-6);
    CHECK(worst_difference({.rule = rule, .lr = 0.01, .weight_decay = 0.1}) <= 1e-6);
    CHECK(worst_difference({.rule = rule, .lr = 0.01, .beta1 = 0.5, .beta2 = 0.9, .eps = 1e-3}) <=
          1e-6);
  }
}
