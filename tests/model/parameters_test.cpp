// SPDX-License-Identifier: MIT
// What is trained: tied tensors once, frozen ones not, never nothing.
#include <torch/torch.h>

#include "model/parameters.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

using namespace lockstep;
using test::lacks;
using test::message_of;

namespace {

using Names = std::vector<std::string>;

std::shared_ptr<model::Network> cnn() {
  model::Spec spec;
  spec.sample_shape = {1, 8, 8};
  spec.num_classes = 10;
  return model::Registry().make("cnn", spec, 1);
}

// The output layer is the embedding again, under a second name.
class Tied : public model::Network {
 public:
  Tied() {
    embedding = register_module("embedding", torch::nn::Embedding(7, 3));
    head = register_parameter("head", embedding->weight);
  }
  torch::Tensor forward(const torch::Tensor& inputs) override {
    return torch::linear(embedding->forward(inputs), head);
  }

  torch::nn::Embedding embedding{nullptr};
  torch::Tensor head;
};

Names names(const std::vector<NamedTensor>& parameters) {
  Names out;
  for (const NamedTensor& p : parameters) out.push_back(p.name);
  return out;
}

}  // namespace

TEST_CASE("parameters come in the order of registration, frozen ones only when asked for",
          "[model]") {
  auto network = cnn();
  const Names all{"conv1.weight",
                  "conv1.bias",
                  "conv2.weight",
                  "conv2.bias",
                  "fc1.weight",
                  "fc1.bias",
                  "fc2.weight",
                  "fc2.bias"};
  CHECK(names(model::trainable_parameters(*network)) == all);
  CHECK(model::apply_freeze(*network, {R"(conv1\..*)", R"(.*\.bias)"}) == 5);
  CHECK(names(model::trainable_parameters(*network)) ==
        Names{"conv2.weight", "fc1.weight", "fc2.weight"});
  CHECK(names(model::unique_parameters(*network)) == all);
}

TEST_CASE("a tied weight counts once, with the gradient of both uses", "[model][D11]") {
  Tied network;
  REQUIRE(network.parameters().size() == 2);
  const std::vector<NamedTensor> parameters = model::trainable_parameters(network);
  CHECK(names(parameters) == Names{"head"});
  model::check_contract(network, "tied");
  network.forward(torch::tensor({1, 2, 2}, torch::kLong)).sum().backward();
  const torch::Tensor both = parameters[0].tensor.grad().clone();
  const torch::Tensor weight = network.embedding->weight.detach();
  torch::Tensor expected =
      weight.index_select(0, torch::tensor({1, 2, 2}, torch::kLong)).sum(0).repeat({7, 1});
  expected[1] += weight.sum(0);
  expected[2] += 2 * weight.sum(0);
  CHECK(torch::allclose(both, expected, 1e-6, 1e-6));
}

TEST_CASE("freezing one name of a tied weight freezes it", "[model][D11]") {
  Tied network;
  CHECK(lacks(message_of([&] { model::apply_freeze(network, {"embedding.weight"}); }),
              {"--freeze 'embedding.weight' matched 1 of 1"}) == "");
}

TEST_CASE("freezing everything is one clear error", "[model][D12]") {
  CHECK(message_of([] { model::apply_freeze(*cnn(), {".*"}); }) ==
        "no trainable parameters, --freeze '.*' matched 8 of 8; leave at least one to train");
  CHECK(lacks(message_of([] {
                model::apply_freeze(*cnn(), {"conv.*", "fc.*"});
              }),
              {"--freeze 'conv.*' 'fc.*' matched 8 of 8"}) == "");
}

TEST_CASE("patterns match whole names, and each must match something", "[model]") {
  CHECK(model::apply_freeze(*cnn(), {}) == 0);
  CHECK(lacks(message_of([] { model::apply_freeze(*cnn(), {"conv1"}); }),
              {"--freeze 'conv1' matches no parameter", "whole name", "conv1.weight"}) == "");
  CHECK(lacks(message_of([] { model::apply_freeze(*cnn(), {"conv1.("}); }),
              {"--freeze 'conv1.('", "regular expression"}) == "");
}

TEST_CASE("a frozen parameter gets no gradient", "[model]") {
  auto network = cnn();
  model::apply_freeze(*network, {"conv1.*"});
  network->forward(torch::randn({2, 1, 8, 8})).sum().backward();
  CHECK(!network->named_parameters()["conv1.weight"].grad().defined());
  CHECK(network->named_parameters()["conv2.weight"].grad().defined());
}

TEST_CASE("the state of a model is its parameters and buffers, tied ones once", "[model][D11]") {
  model::Spec spec;
  spec.sample_shape = {1, 8, 8};
  spec.num_classes = 10;
  spec.options = {{"batchnorm", "1"}};
  auto network = model::Registry().make("cnn", spec, 1);
  model::apply_freeze(*network, {"conv1.*"});
  const Names state = names(model::named_state(*network));
  CHECK(state.size() == 12 + 6);
  CHECK(state.front() == "model/conv1.weight");
  CHECK(std::count(state.begin(), state.end(), "model/bn2.running_var") == 1);
  CHECK(names(model::named_state(Tied())) == Names{"model/head"});
}
