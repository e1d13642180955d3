// SPDX-License-Identifier: MIT
// BatchNorm over all ranks against LibTorch's own BatchNorm on the joined batch.
#include "comm/local/local_group.hpp"
#include "support/catch.hpp"
#include "tensor/layer.hpp"

namespace lockstep {

using test::all_ranks;
using test::distance;
using test::Layer;
using test::LayerOptions;
using test::make_layer;
using test::my_rows;
using test::normal;
using test::run;
using test::same_bits;
using test::summed;
using test::world;
using torch::Tensor;

namespace {

// The largest difference between the ranks' BatchNorm and the plain one on the joined batch.
double worst_difference(torch::IntArrayRef shape, LayerOptions options, double offset = 0) {
  const auto joined = 2 * normal(shape, 1) + offset, slope = normal(shape, 2);
  auto expected = make_layer(shape[1], options), found = make_layer(shape[1], options);
  run(expected, joined, slope, options);
  OpContext context{.batch_norm_ranks = &world()};
  const OpContextScope scope(context);
  run(found, my_rows(joined), my_rows(slope), options);
  double worst = distance(found.output, my_rows(expected.output));
  const auto compare = [&](const Tensor& mine, const Tensor& wanted) {
    if (wanted.defined()) worst = std::max(worst, distance(mine, wanted));
  };
  compare(found.of_input, my_rows(expected.of_input));
  compare(found.mean, expected.mean);
  compare(found.variance, expected.variance);
  if (options.affine) {
    compare(summed(found.of_weight), expected.of_weight);
    compare(summed(found.of_bias), expected.of_bias);
  }
  return worst;
}

Tensor column(std::initializer_list<float> values) {
  return torch::tensor(std::vector<float>(values), torch::kFloat32).view({-1, 1});
}

// Rank 0's and rank 1's values; further ranks have none, a single rank has both.
Tensor first_two(const Tensor& zero, const Tensor& one) {
  if (world().ranks() == 1) return torch::cat({zero, one});
  if (world().rank() > 1) return torch::empty({0, 1});
  return world().rank() == 0 ? zero : one;
}

}  // namespace

TEST_CASE("Unlike sample counts weigh as they should in mean and variance", "[tensor][mpi][D17]") {
  OpContext context{.batch_norm_ranks = &world()};
  const OpContextScope scope(context);
  const auto running_after = [&](const Tensor& input) {
    auto mean = torch::zeros({1}), variance = torch::ones({1});
    torch::batch_norm(input, {}, {}, mean, variance, true, 0.1, 1e-5, false);
    return std::pair(mean.item<double>(), variance.item<double>());
  };
  const auto uneven = running_after(first_two(column({0, 2, 4}), column({10})));
  CHECK(uneven.first == Approx(0.4).epsilon(1e-7));  // the mean of means would give 0.6
  CHECK(uneven.second == Approx(0.9 + 0.1 * 56 / 3).epsilon(1e-7));
  const auto even = running_after(first_two(column({0, 2}), column({4, 6})));
  CHECK(even.first == Approx(0.3).epsilon(1e-7));
  CHECK(even.second == Approx(0.9 + 0.1 * 20 / 3).epsilon(1e-7));
}

TEST_CASE("The ranks' BatchNorm is that of the joined batch, forward and backward",
          "[tensor][mpi][D17]") {
  CHECK(worst_difference({7, 5}, {}) < 1e-6);
  CHECK(worst_difference({7, 3, 10}, {}) < 1e-6);
  CHECK(worst_difference({7, 5, 4, 6}, {}) < 1e-6);
  CHECK(worst_difference({7, 5, 4, 6}, {}, /*offset=*/3) < 1e-5);
  CHECK(worst_difference({7, 5, 4, 6}, {.channels_last = true}) < 1e-6);
  CHECK(worst_difference({7, 5, 4, 6}, {.affine = false}) < 1e-6);
  CHECK(worst_difference({7, 5, 4, 6}, {.running = false}) < 1e-6);
  CHECK(worst_difference({7, 5, 2, 3, 4}, {.affine = false, .running = false}) < 1e-6);
  // Where rounding is out of the way nothing is left.
  CHECK(worst_difference({7, 5, 4, 6}, {.type = torch::kFloat64}) < 1e-12);
  CHECK(worst_difference({7, 5}, {.type = torch::kFloat64}, /*offset=*/3) < 1e-12);
}

TEST_CASE("Every rank ends with the same bits in its running statistics", "[tensor][mpi][D16]") {
  auto layer = make_layer(5, {});
  const auto joined = normal({7, 5, 4, 4}, 3);
  OpContext context{.batch_norm_ranks = &world()};
  const OpContextScope scope(context);
  for (int step = 0; step < 3; ++step) run(layer, my_rows(joined + step), my_rows(joined), {});
  for (const auto& statistic : {layer.mean, layer.variance}) {
    auto from_zero = statistic.clone();
    world().broadcast(span_of<float>(from_zero), 0);
    CHECK(same_bits(from_zero, statistic));
  }
}

TEST_CASE("Plain modules are intercepted", "[tensor][mpi]") {
  const auto make = [] {
    torch::manual_seed(5);
    return torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 4, 3).padding(1)),
                                 torch::nn::BatchNorm2d(4),
                                 torch::nn::ReLU(),
                                 torch::nn::Flatten(),
                                 torch::nn::Linear(4 * 4 * 4, 6),
                                 torch::nn::BatchNorm1d(6));
  };
  const auto joined = normal({7, 2, 4, 4}, 6).to(torch::kFloat32);
  // BatchNorm1d refuses a single row before the operator sees it: ranks take 2 rows or none.
  const auto rank = world().rank();
  const auto mine = world().ranks() == 1 ? joined
                                         : joined.slice(0,
                                                        std::min(2 * rank, 7),
                                                        rank == 0   ? 2
                                                        : rank == 1 ? 7
                                                                    : 0);
  auto expected = make(), found = make();
  const auto wanted = expected->forward(joined);
  wanted.pow(3).sum().backward();
  OpContext context{.batch_norm_ranks = &world()};
  const OpContextScope scope(context);
  found->forward(mine).pow(3).sum().backward();
  for (const auto& item : expected->named_buffers())
    CHECK(distance(found->named_buffers()[item.key()], item.value()) < 1e-6);
  for (const auto& item : expected->named_parameters()) {
    INFO(item.key());
    CHECK(distance(summed(found->named_parameters()[item.key()].grad()), item.value().grad()) <
          1e-5);
  }
}

TEST_CASE("One rank with --batch-norm sync has plain BatchNorm's bits", "[tensor][mpi][D19]") {
  const auto alone = comm::make_local_group(1);
  const auto input = normal({7, 5, 4, 6}, 7), slope = normal({7, 5, 4, 6}, 8);
  for (const bool channels_last : {false, true}) {
    const LayerOptions options{.channels_last = channels_last};
    auto expected = make_layer(5, options), found = make_layer(5, options);
    run(expected, input, slope, options);
    OpContext context{.batch_norm_ranks = alone[0].get()};
    const OpContextScope scope(context);
    run(found, input, slope, options);
    CHECK(same_bits(found.output, expected.output));
    CHECK(same_bits(found.of_input, expected.of_input));
    CHECK(same_bits(found.of_weight, expected.of_weight));
    CHECK(same_bits(found.of_bias, expected.of_bias));
    CHECK(same_bits(found.mean, expected.mean));
    CHECK(same_bits(found.variance, expected.variance));
  }
}

TEST_CASE("Recomputation and kept statistics leave the running values alone", "[tensor][mpi]") {
  const auto alone = comm::make_local_group(1);
  for (auto* ranks : {&world(), alone[0].get(), static_cast<comm::Communicator*>(nullptr)}) {
    for (const bool recomputing : {false, true}) {
      const auto rows = my_rows(normal({7, 5, 4, 4}, 9));
      if (rows.size(0) == 0 && ranks != &world()) continue;
      auto first = make_layer(5, {}), again = make_layer(5, {});
      OpContext context{.batch_norm_ranks = ranks};
      const OpContextScope scope(context);
      run(first, rows, rows, {});
      context.statistics = recomputing ? RunningStatistics::kUpdate : RunningStatistics::kKeep;
      context.recomputing = recomputing;
      run(again, rows, rows, {});
      CHECK(same_bits(again.output, first.output));
      CHECK(same_bits(again.of_input, first.of_input));
      CHECK(same_bits(again.mean, make_layer(5, {}).mean));
      CHECK(same_bits(again.variance, make_layer(5, {}).variance));
      CHECK_FALSE(same_bits(first.mean, again.mean));
    }
  }
}

TEST_CASE("Evaluation is LibTorch's own and meets nobody", "[tensor][mpi][D19]") {
  auto layer = make_layer(5, {});
  const auto input = normal({7, 5, 4, 4}, 10).to(torch::kFloat32);
  const auto evaluate = [&] {
    return torch::batch_norm(input,
                             layer.weight,
                             layer.bias,
                             layer.mean,
                             layer.variance,
                             false,
                             0.1,
                             1e-5,
                             false);
  };
  const auto expected = evaluate();
  OpContext context{.batch_norm_ranks = &world()};
  const OpContextScope scope(context);
  if (world().rank() == 0) CHECK(same_bits(evaluate(), expected));  // would wait for the others
  const torch::InferenceMode inference;
  if (world().rank() == 0) CHECK(same_bits(evaluate(), expected));
}

}  // namespace lockstep
