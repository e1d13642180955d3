// SPDX-License-Identifier: MIT
// The reducer under real autograd, one rank: views, hooks, guards, refusals.
#include "parallel/ddp/reducer.hpp"

#include <torch/torch.h>

#include "comm/local/local_group.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

namespace lockstep::parallel {
namespace {

struct OneRank {
  std::vector<std::unique_ptr<comm::Communicator>> group = comm::make_local_group(1);

  std::unique_ptr<Reducer> reducer(const std::vector<NamedTensor>& parameters,
                                   std::int64_t cap = 1 << 20) {
    std::vector<ParameterSize> sizes;
    for (const auto& p : parameters) sizes.push_back({p.name, p.tensor.numel()});
    return std::make_unique<Reducer>(parameters,
                                     plan_buckets(sizes, reverse_order(sizes.size()), cap),
                                     std::make_unique<BucketChannel>(group[0]->duplicate(), false));
  }
};

NamedTensor parameter(const std::string& name, torch::IntArrayRef shape) {
  return {name, torch::randn(shape).set_requires_grad(true)};
}

bool aliases(const torch::Tensor& gradient, std::span<float> bucket) {
  const auto* data = gradient.data_ptr<float>();
  return data >= bucket.data() && data + gradient.numel() <= bucket.data() + bucket.size();
}

}  // namespace

TEST_CASE("Gradients are born in their bucket and stay there over many backwards", "[parallel]") {
  OneRank one;
  const std::vector<NamedTensor> parameters = {parameter("w", {3, 4}), parameter("b", {3})};
  const auto reducer = one.reducer(parameters);
  const auto x = torch::randn({5, 4});
  for (int step = 0; step < 3; ++step) {
    reducer->begin_step();
    torch::linear(x, parameters[0].tensor, parameters[1].tensor).square().sum().backward();
    reducer->finish();
    CHECK(reducer->missing().empty());
    for (const auto& p : parameters) CHECK(aliases(p.tensor.grad(), reducer->bucket(0)));
    const auto w = parameters[0].tensor.detach().clone().set_requires_grad(true);
    const auto b = parameters[1].tensor.detach().clone().set_requires_grad(true);
    torch::linear(x, w, b).square().sum().backward();
    CHECK(torch::equal(w.grad(), parameters[0].tensor.grad()));
    CHECK(torch::equal(b.grad(), parameters[1].tensor.grad()));
  }
  CHECK(reducer->copies() == 0);
}

TEST_CASE("Channels-last weights have gradients of their own strides", "[parallel]") {
  OneRank one;
  auto weight = torch::randn({4, 3, 3, 3}).contiguous(torch::MemoryFormat::ChannelsLast);
  const std::vector<NamedTensor> parameters = {{"conv", weight.set_requires_grad(true)}};
  const auto reducer = one.reducer(parameters);
  const auto x = torch::randn({2, 3, 8, 8}).contiguous(torch::MemoryFormat::ChannelsLast);
  reducer->begin_step();
  torch::conv2d(x, parameters[0].tensor).sum().backward();
  reducer->finish();
  CHECK(parameters[0].tensor.grad().strides() == weight.strides());
  CHECK(reducer->copies() == 0);
  const auto plain = weight.detach().clone().set_requires_grad(true);
  torch::conv2d(x, plain).sum().backward();
  CHECK(torch::allclose(plain.grad(), parameters[0].tensor.grad()));
}

TEST_CASE("A gradient that somebody cleared or made with a graph is copied back into its view",
          "[parallel]") {
  OneRank one;
  const std::vector<NamedTensor> parameters = {parameter("w", {6})};
  const auto reducer = one.reducer(parameters);
  reducer->begin_step();
  parameters[0].tensor.mutable_grad() = torch::Tensor();
  (parameters[0].tensor * 2).sum().backward();
  reducer->finish();
  CHECK(torch::equal(parameters[0].tensor.grad(), torch::full({6}, 2.0F)));
  CHECK(aliases(parameters[0].tensor.grad(), reducer->bucket(0)));
  reducer->begin_step();
  parameters[0].tensor.square().sum().backward({}, {}, /*create_graph=*/true);
  reducer->finish();
  CHECK(torch::equal(parameters[0].tensor.grad(), parameters[0].tensor.detach() * 2));
  CHECK(aliases(parameters[0].tensor.grad(), reducer->bucket(0)));
  CHECK(reducer->copies() == 2);
}

TEST_CASE("Two forwards and one backward, and a weight used twice, fire once", "[parallel]") {
  OneRank one;
  const std::vector<NamedTensor> parameters = {parameter("tied", {4, 4})};
  const auto reducer = one.reducer(parameters);
  const auto& w = parameters[0].tensor;
  reducer->begin_step();
  const auto x = torch::randn({2, 4});
  (torch::mm(torch::mm(x, w), w).sum() + torch::mm(x, w).sum()).backward();
  reducer->finish();
  CHECK(reducer->missing().empty());
}

TEST_CASE("Micro-steps under the guard add up to the gradient of the whole",
          "[parallel][D01][D07]") {
  OneRank one;
  const std::vector<NamedTensor> parameters = {parameter("w", {4})};
  const auto reducer = one.reducer(parameters);
  reducer->begin_step();
  for (int k = 0; k < 3; ++k) {
    std::optional<Reducer::NoSync> no_sync;
    if (k < 2) no_sync.emplace(*reducer);
    (parameters[0].tensor * (k + 1)).sum().backward();
  }
  reducer->finish();
  CHECK(torch::equal(parameters[0].tensor.grad(), torch::full({4}, 6.0F)));
  CHECK(reducer->timings().size() == 1);  // one reduction for three micro-steps
}

TEST_CASE("A second backward without the guard is refused by the parameter's name", "[parallel]") {
  OneRank one;
  const std::vector<NamedTensor> parameters = {parameter("fc.weight", {4})};
  const auto reducer = one.reducer(parameters);
  reducer->begin_step();
  parameters[0].tensor.sum().backward();
  CHECK(test::lacks(test::message_of([&] { parameters[0].tensor.sum().backward(); }),
                    {"fc.weight", "twice", "NoSync"}) == "");
}

TEST_CASE("A parameter that took no part is reported as missing", "[parallel][D09]") {
  OneRank one;
  const std::vector<NamedTensor> parameters = {parameter("used", {2}), parameter("unused", {2})};
  const auto reducer = one.reducer(parameters);
  reducer->begin_step();
  parameters[0].tensor.sum().backward();
  reducer->finish();
  CHECK(reducer->missing() == std::vector<int>{1});
  CHECK(torch::equal(parameters[1].tensor.grad(), torch::zeros({2})));
}

TEST_CASE("What cannot be reduced is refused by name", "[parallel][D15]") {
  OneRank one;
  CHECK(test::lacks(
            test::message_of([&] {
              one.reducer({{"half", torch::zeros({2}, torch::kFloat16).set_requires_grad(true)}});
            }),
            {"half", "fp16", "fp32"}) == "");
  CHECK(test::lacks(
            test::message_of([&] {
              one.reducer(
                  {{"view", torch::zeros({4, 4}).slice(1, 0, 2).detach().set_requires_grad(true)}});
            }),
            {"view", "[4, 2]"}) == "");
  const std::vector<NamedTensor> parameters = {parameter("w", {2})};
  const auto first = one.reducer(parameters);
  CHECK(test::lacks(test::message_of([&] { one.reducer(parameters); }), {"w", "hook"}) == "");
}

TEST_CASE("A reducer leaves no hooks and views behind", "[parallel]") {
  OneRank one;
  const std::vector<NamedTensor> parameters = {parameter("w", {2})};
  one.reducer(parameters).reset();
  CHECK_FALSE(parameters[0].tensor.grad().defined());
  parameters[0].tensor.sum().backward();
  CHECK(torch::equal(one.reducer(parameters)->parameters()[0].tensor.grad(), torch::zeros({2})));
}

TEST_CASE("A new plan follows the order in which gradients came", "[parallel]") {
  OneRank one;
  const std::vector<NamedTensor> parameters = {parameter("a", {2}),
                                               parameter("b", {2}),
                                               parameter("c", {2})};
  const auto reducer = one.reducer(parameters, 16);
  reducer->begin_step();
  const auto& a = parameters[0].tensor;
  const auto& b = parameters[1].tensor;
  const auto& c = parameters[2].tensor;
  (((a * 2 + c) * 3) + b).sum().backward();
  reducer->finish();
  const auto order = reducer->seen_order();
  CHECK(order.size() == 3);
  reducer->replan({1, 0, 2});
  CHECK(reducer->plan().places[1].bucket == 0);
  CHECK(reducer->plan().places[0].bucket == 1);
  reducer->begin_step();
  (a + b + c).sum().backward();
  reducer->finish();
  for (const auto& p : parameters) CHECK(torch::equal(p.tensor.grad(), torch::ones({2})));
}

}  // namespace lockstep::parallel
