// SPDX-License-Identifier: MIT
// Without a context the overridden operators are LibTorch's own, to the bit.
#include "support/catch.hpp"
#include "tensor/normal.hpp"

namespace lockstep {

using test::normal;
using test::same_bits;
using torch::Tensor;

namespace {

std::vector<Tensor> gradients(const Tensor& output, std::vector<Tensor> inputs) {
  return torch::autograd::grad({output.pow(3).sum()}, inputs);
}

}  // namespace

TEST_CASE("BatchNorm without a context has the bits of native_batch_norm", "[tensor][mpi]") {
  install_op_overrides();
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{6, 5}, {6, 5, 4, 3}}) {
    for (const bool training : {true, false}) {
      for (const bool channels_last : {false, true}) {
        if (channels_last && shape.size() != 4) continue;
        auto input = normal(shape, 1).to(torch::kFloat32);
        if (channels_last) input = input.contiguous(torch::MemoryFormat::ChannelsLast);
        input.requires_grad_();
        const auto weight = normal({5}, 2).to(torch::kFloat32).requires_grad_();
        const auto bias = normal({5}, 3).to(torch::kFloat32).requires_grad_();
        const auto mean = torch::zeros({5}), variance = torch::ones({5});
        const auto their_mean = mean.clone(), their_variance = variance.clone();
        const auto found =
            torch::batch_norm(input, weight, bias, mean, variance, training, 0.1, 1e-5, false);
        const auto expected = std::get<0>(at::native_batch_norm(input,
                                                                weight,
                                                                bias,
                                                                their_mean,
                                                                their_variance,
                                                                training,
                                                                0.1,
                                                                1e-5));
        CHECK(same_bits(found, expected));
        CHECK(found.strides() == expected.strides());
        CHECK(same_bits(mean, their_mean));
        CHECK(same_bits(variance, their_variance));
        const auto mine = gradients(found, {input, weight, bias});
        const auto theirs = gradients(expected, {input, weight, bias});
        for (std::size_t i = 0; i < mine.size(); ++i) CHECK(same_bits(mine[i], theirs[i]));
      }
    }
  }
}

TEST_CASE("Dropout without a context draws from LibTorch's generator", "[tensor][mpi]") {
  install_op_overrides();
  const auto input = normal({300, 7}, 4).to(torch::kFloat32).requires_grad_();
  torch::manual_seed(3);
  const auto found = torch::dropout(input, 0.3, true);
  torch::manual_seed(3);
  const auto noise = torch::empty_like(input).bernoulli_(0.7).div_(0.7);
  const auto expected = input * noise;
  CHECK(same_bits(found, expected));
  CHECK(same_bits(gradients(found, {input})[0], gradients(expected, {input})[0]));
  CHECK_FALSE(same_bits(torch::dropout(input, 0.3, true), found));
}

TEST_CASE("Scopes nest, and a thread has none at first", "[tensor][mpi]") {
  CHECK(current_op_context() == nullptr);
  OpContext outer{.seed = 1}, inner{.seed = 2};
  {
    const OpContextScope first(outer);
    CHECK(current_op_context() == &outer);
    {
      const OpContextScope second(inner);
      CHECK(current_op_context() == &inner);
    }
    CHECK(current_op_context() == &outer);
  }
  CHECK(current_op_context() == nullptr);
}

}  // namespace lockstep
