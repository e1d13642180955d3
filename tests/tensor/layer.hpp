// SPDX-License-Identifier: MIT
// One BatchNorm layer in training, with a loss behind it.
#pragma once

#include <torch/torch.h>

#include "tensor/normal.hpp"

namespace lockstep::test {

/// One BatchNorm in training: its arguments, and what came out of forward and backward.
struct Layer {
  torch::Tensor weight, bias, mean, variance;
  torch::Tensor output, of_input, of_weight, of_bias;
};

struct LayerOptions {
  torch::ScalarType type = torch::kFloat32;
  bool affine = true;
  bool running = true;
  bool channels_last = false;
};

inline Layer make_layer(std::int64_t channels, LayerOptions options) {
  Layer out;
  if (options.affine) {
    out.weight = (1 + 0.3 * normal({channels}, 11)).to(options.type).requires_grad_();
    out.bias = normal({channels}, 12).to(options.type).requires_grad_();
  }
  if (options.running) {
    out.mean = normal({channels}, 13).to(options.type);
    out.variance = (normal({channels}, 14).square() + 0.5).to(options.type);
  }
  return out;
}

inline void run(Layer& layer,
                const torch::Tensor& rows,
                const torch::Tensor& slope,
                LayerOptions options) {
  auto input = rows.to(options.type);
  if (options.channels_last) input = input.contiguous(torch::MemoryFormat::ChannelsLast);
  input = input.detach().clone().requires_grad_();
  layer.output = torch::batch_norm(input,
                                   layer.weight,
                                   layer.bias,
                                   layer.mean,
                                   layer.variance,
                                   true,
                                   0.1,
                                   1e-5,
                                   false);
  // A loss that is not linear in the output: sum of slope * y + y^3 / 30.
  (slope.to(options.type) * layer.output + layer.output.pow(3) / 30).sum().backward();
  layer.of_input = input.grad();
  if (options.affine) {
    layer.of_weight = layer.weight.grad();
    layer.of_bias = layer.bias.grad();
  }
}

}  // namespace lockstep::test
