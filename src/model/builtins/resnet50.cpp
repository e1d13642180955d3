// SPDX-License-Identifier: MIT
// resnet50: the v1.5 network (stride on the 3x3), under torchvision's parameter names; 25,557,032
// parameters at 1000 classes. K. He et al., "Deep residual learning for image recognition", CVPR
// 2016.
#include <torch/torch.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "model/builtins/builtins.hpp"
#include "tensor/bridge.hpp"

namespace lockstep::model {
namespace {

using torch::nn::BatchNorm2d;
using torch::nn::Conv2d;

Conv2d conv(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  return Conv2d(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

class BottleneckImpl : public torch::nn::Module {
 public:
  static constexpr std::int64_t kExpansion = 4;

  BottleneckImpl(std::int64_t in, std::int64_t width, std::int64_t stride) {
    const std::int64_t out = width * kExpansion;
    conv1 = register_module("conv1", conv(in, width, 1, 1));
    bn1 = register_module("bn1", BatchNorm2d(width));
    conv2 = register_module("conv2", conv(width, width, 3, stride));
    bn2 = register_module("bn2", BatchNorm2d(width));
    conv3 = register_module("conv3", conv(width, out, 1, 1));
    bn3 = register_module("bn3", BatchNorm2d(out));
    if (stride != 1 || in != out) {
      downsample =
          register_module("downsample",
                          torch::nn::Sequential(conv(in, out, 1, stride), BatchNorm2d(out)));
    }
  }

  torch::Tensor forward(const torch::Tensor& x) {
    torch::Tensor y = bn1->forward(conv1->forward(x)).relu_();
    y = bn2->forward(conv2->forward(y)).relu_();
    y = bn3->forward(conv3->forward(y));
    return (y + (downsample.is_empty() ? x : downsample->forward(x))).relu_();
  }

  Conv2d conv1{nullptr}, conv2{nullptr}, conv3{nullptr};
  BatchNorm2d bn1{nullptr}, bn2{nullptr}, bn3{nullptr};
  torch::nn::Sequential downsample{nullptr};
};
TORCH_MODULE(Bottleneck);

class Resnet50 : public Network {
 public:
  Resnet50(std::int64_t channels, std::int64_t classes, bool small) : small_(small) {
    conv1 = register_module("conv1", small ? conv(channels, 64, 3, 1) : conv(channels, 64, 7, 2));
    bn1 = register_module("bn1", BatchNorm2d(64));
    const std::int64_t counts[] = {3, 4, 6, 3};
    std::int64_t in = 64;
    for (std::int64_t layer = 0; layer < 4; ++layer) {
      const std::int64_t width = 64 << layer;
      torch::nn::Sequential blocks;
      for (std::int64_t i = 0; i < counts[layer]; ++i) {
        blocks->push_back(Bottleneck(in, width, i == 0 && layer > 0 ? 2 : 1));
        in = width * BottleneckImpl::kExpansion;
      }
      layers_.push_back(register_module(cat("layer", layer + 1), blocks));
    }
    fc = register_module("fc", torch::nn::Linear(in, classes));
  }

  torch::Tensor forward(const torch::Tensor& inputs) override {
    torch::Tensor x = stem(inputs);
    for (torch::nn::Sequential& layer : layers_) x = layer->forward(x);
    return head(x);
  }

  std::vector<Block> blocks() override {
    std::vector<Block> out;
    out.push_back(
        {"stem", [this](const torch::Tensor& x) { return stem(x); }, {conv1.ptr(), bn1.ptr()}});
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      for (std::size_t i = 0; i < layers_[layer]->size(); ++i) {
        auto block = std::dynamic_pointer_cast<BottleneckImpl>(layers_[layer]->ptr(i));
        out.push_back({cat("layer", layer + 1, ".", i),
                       [block](const torch::Tensor& x) { return block->forward(x); },
                       {block}});
      }
    }
    out.push_back({"fc", [this](const torch::Tensor& x) { return head(x); }, {fc.ptr()}});
    return out;
  }

  Conv2d conv1{nullptr};
  BatchNorm2d bn1{nullptr};
  torch::nn::Linear fc{nullptr};

 private:
  torch::Tensor stem(const torch::Tensor& x) {
    const torch::Tensor y = bn1->forward(conv1->forward(x)).relu_();
    return small_ ? y : torch::max_pool2d(y, 3, 2, 1);
  }

  torch::Tensor head(const torch::Tensor& x) { return fc->forward(x.mean({2, 3})); }

  bool small_;
  std::vector<torch::nn::Sequential> layers_;
};

}  // namespace

std::shared_ptr<Network> make_resnet50(Spec& spec) {
  const std::vector<std::int64_t>& shape = spec.sample_shape;
  if (shape.size() != 3) {
    throw ConfigError(cat("model resnet50 needs samples [C, H, W], but the data has ",
                          shape_text(shape),
                          "; --model mlp takes any shape"));
  }
  const bool small = spec.integer("small", 0, 0, 1) == 1;
  return std::make_shared<Resnet50>(shape[0], spec.classes(), small);
}

}  // namespace lockstep::model
