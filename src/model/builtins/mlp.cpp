// SPDX-License-Identifier: MIT
// mlp: Linear and ReLU in turn. Parameters: layers.0.weight, layers.0.bias, layers.1.weight, ...
#include <torch/torch.h>

#include "core/text.hpp"
#include "model/builtins/builtins.hpp"

namespace lockstep::model {
namespace {

class Mlp : public Network {
 public:
  explicit Mlp(const std::vector<std::int64_t>& widths) {
    layers_ = register_module("layers", torch::nn::ModuleList());
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      layers_->push_back(torch::nn::Linear(widths[i], widths[i + 1]));
    }
  }

  torch::Tensor forward(const torch::Tensor& inputs) override {
    torch::Tensor x = inputs;
    for (std::size_t i = 0; i < layers_->size(); ++i) x = run(i, x);
    return x;
  }

  std::vector<Block> blocks() override {
    std::vector<Block> out;
    for (std::size_t i = 0; i < layers_->size(); ++i) {
      out.push_back({cat("layers.", i),
                     [this, i](const torch::Tensor& x) { return run(i, x); },
                     {layers_->ptr(i)}});
    }
    return out;
  }

 private:
  // inputs [N, ...] -> [N, widths[i + 1]]; the sizes after N are given, so that N = 0 is no riddle
  // for reshape.
  torch::Tensor run(std::size_t i, const torch::Tensor& inputs) {
    auto& linear = layers_->at<torch::nn::LinearImpl>(i);
    const torch::Tensor x =
        i == 0 ? inputs.reshape({inputs.size(0), linear.options.in_features()}) : inputs;
    const torch::Tensor y = linear.forward(x);
    return i + 1 < layers_->size() ? torch::relu(y) : y;
  }

  torch::nn::ModuleList layers_{nullptr};
};

}  // namespace

std::shared_ptr<Network> make_mlp(Spec& spec) {
  std::vector<std::int64_t> widths = spec.integers("hidden", {256, 256}, 1, 1 << 20);
  widths.insert(widths.begin(), c10::multiply_integers(spec.sample_shape));
  widths.push_back(spec.classes());
  return std::make_shared<Mlp>(widths);
}

}  // namespace lockstep::model
