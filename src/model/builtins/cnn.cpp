// SPDX-License-Identifier: MIT
// cnn: conv 3x3, pool, conv 3x3, pool, two linear layers. 421,642 parameters for 28x28 grey
// pictures and 10 classes.
#include <torch/torch.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "model/builtins/builtins.hpp"
#include "tensor/bridge.hpp"

namespace lockstep::model {
namespace {

constexpr std::int64_t kHidden = 128;

struct CnnSizes {
  std::int64_t channels, height, width, classes;
  std::int64_t filters;  ///< of conv1; conv2 has twice as many
  bool batchnorm;
  double dropout;
};

class Cnn : public Network {
 public:
  explicit Cnn(const CnnSizes& s) : batchnorm_(s.batchnorm), dropout_(s.dropout) {
    using torch::nn::Conv2dOptions;
    // A bias in front of a batch norm is subtracted again, but kept: the names do not depend on
    // options.
    conv1 = register_module("conv1",
                            torch::nn::Conv2d(Conv2dOptions(s.channels, s.filters, 3).padding(1)));
    if (batchnorm_) bn1 = register_module("bn1", torch::nn::BatchNorm2d(s.filters));
    conv2 =
        register_module("conv2",
                        torch::nn::Conv2d(Conv2dOptions(s.filters, 2 * s.filters, 3).padding(1)));
    if (batchnorm_) bn2 = register_module("bn2", torch::nn::BatchNorm2d(2 * s.filters));
    flat_ = 2 * s.filters * (s.height / 4) * (s.width / 4);
    fc1 = register_module("fc1", torch::nn::Linear(flat_, kHidden));
    fc2 = register_module("fc2", torch::nn::Linear(kHidden, s.classes));
  }

  torch::Tensor forward(const torch::Tensor& inputs) override {
    return classify(stage(conv2, bn2, stage(conv1, bn1, inputs)));
  }

  std::vector<Block> blocks() override {
    using Modules = std::vector<std::shared_ptr<torch::nn::Module>>;
    const auto with = [this](std::shared_ptr<torch::nn::Module> conv, torch::nn::BatchNorm2d& bn) {
      return batchnorm_ ? Modules{std::move(conv), bn.ptr()} : Modules{std::move(conv)};
    };
    return {
        {"conv1",
         [this](const torch::Tensor& x) { return stage(conv1, bn1, x); },
         with(conv1.ptr(), bn1)},
        {"conv2",
         [this](const torch::Tensor& x) { return stage(conv2, bn2, x); },
         with(conv2.ptr(), bn2)},
        {"fc", [this](const torch::Tensor& x) { return classify(x); }, {fc1.ptr(), fc2.ptr()}},
    };
  }

  torch::nn::Conv2d conv1{nullptr}, conv2{nullptr};
  torch::nn::BatchNorm2d bn1{nullptr}, bn2{nullptr};
  torch::nn::Linear fc1{nullptr}, fc2{nullptr};

 private:
  torch::Tensor stage(torch::nn::Conv2d& conv, torch::nn::BatchNorm2d& bn, const torch::Tensor& x) {
    torch::Tensor y = conv->forward(x);
    if (batchnorm_) y = bn->forward(y);
    return torch::max_pool2d(torch::relu(y), 2);
  }

  torch::Tensor classify(const torch::Tensor& x) {
    torch::Tensor y = torch::relu(fc1->forward(x.reshape({x.size(0), flat_})));
    if (dropout_ > 0) y = torch::dropout(y, dropout_, is_training());
    return fc2->forward(y);
  }

  bool batchnorm_;
  double dropout_;
  std::int64_t flat_ = 0;
};

}  // namespace

std::shared_ptr<Network> make_cnn(Spec& spec) {
  const std::vector<std::int64_t>& shape = spec.sample_shape;
  if (shape.size() != 3 || shape[1] < 4 || shape[2] < 4) {
    throw ConfigError(
        cat("model cnn needs samples [C, H, W] with H and W of 4 or more, but the data has ",
            shape_text(shape),
            "; --model mlp takes any shape"));
  }
  CnnSizes sizes{};
  sizes.channels = shape[0];
  sizes.height = shape[1];
  sizes.width = shape[2];
  sizes.classes = spec.classes();
  sizes.filters = spec.integer("width", 32, 1, 4096);
  sizes.batchnorm = spec.integer("batchnorm", 0, 0, 1) == 1;
  sizes.dropout = spec.real("dropout", 0, 0, 0.99);
  return std::make_shared<Cnn>(sizes);
}

}  // namespace lockstep::model
