// SPDX-License-Identifier: MIT
// A program of its own on Lockstep's front door: it brings a model, which can be told to throw on
// one rank in one step.
#include <torch/torch.h>

#include <cstdlib>
#include <stdexcept>

#include "commands/run.hpp"

namespace {

using lockstep::model::Spec;

// Identity whose backward throws.
struct Broken : torch::autograd::Function<Broken> {
  static torch::Tensor forward(torch::autograd::AutogradContext*, const torch::Tensor& x) {
    return x.clone();
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*,
                                               const torch::autograd::tensor_list&) {
    throw std::runtime_error("planned fault in backward");
  }
};

int rank_of_launcher() {
  const char* text = std::getenv("OMPI_COMM_WORLD_RANK");
  return text == nullptr ? 0 : std::atoi(text);
}

struct OwnModel : lockstep::model::Network {
  torch::nn::Linear first{nullptr}, second{nullptr};
  std::int64_t fault_rank, fault_step, phase, step = 0;

  explicit OwnModel(Spec& spec) {
    fault_rank = spec.integer("rank", -1, -1, 1000);
    fault_step = spec.integer("step", 1, 1, 1000);
    phase = spec.integer("phase", 0, 0, 1);  // 0: forward, 1: backward
    std::int64_t inputs = 1;
    for (const auto d : spec.sample_shape) inputs *= d;
    first = register_module("first", torch::nn::Linear(inputs, 32));
    second = register_module("second", torch::nn::Linear(32, spec.classes()));
  }

  torch::Tensor forward(const torch::Tensor& inputs) override {
    auto y = torch::relu(first(inputs.flatten(1)));
    if (!is_training() || rank_of_launcher() != fault_rank || ++step != fault_step)
      return second(y);
    if (phase == 0) throw std::runtime_error("planned fault in forward");
    return second(Broken::apply(y));
  }
};

}  // namespace

int main(int argc, char** argv) {
  lockstep::Extensions extensions;
  extensions.models = [](lockstep::model::Registry& registry) {
    registry.add("own",
                 "a model of this program: rank=R step=S phase=0/1 throws there",
                 [](Spec& spec) { return std::make_shared<OwnModel>(spec); });
  };
  return lockstep::run(argc, argv, extensions);
}
