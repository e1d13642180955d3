// SPDX-License-Identifier: MIT
// BatchNorm over all ranks at its edges: half types, threads as ranks, what is refused, who must
// not take part.
#include <thread>

#include "comm/local/local_group.hpp"
#include "support/catch.hpp"
#include "tensor/layer.hpp"

namespace lockstep {

using test::distance;
using test::Layer;
using test::make_layer;
using test::my_rows;
using test::normal;
using test::run;
using test::same_bits;
using test::summed;
using test::world;
using torch::Tensor;

TEST_CASE("InstanceNorm stays a matter of one sample", "[tensor][mpi]") {
  const auto input = normal({3, 5, 4, 4}, 15).to(torch::kFloat32);
  auto mean = torch::zeros({5}), variance = torch::ones({5});
  const auto norm = [&] {
    return torch::instance_norm(input, {}, {}, mean, variance, true, 0.1, 1e-5, false);
  };
  const auto expected = norm();
  OpContext context{.batch_norm_ranks = &world()};
  const OpContextScope scope(context);
  const auto before = mean.clone();
  if (world().rank() == 0) CHECK(same_bits(norm(), expected));
  if (world().rank() == 0) CHECK_FALSE(same_bits(mean, before));
  const Recomputation again(context, context.mark());
  const auto kept = mean.clone();
  if (world().rank() == 0) CHECK(same_bits(norm(), expected));
  CHECK(same_bits(mean, kept));
}

TEST_CASE("Half inputs keep fp32 statistics", "[tensor][mpi]") {
  const auto joined = normal({7, 5, 4, 4}, 16).to(torch::kBFloat16),
             slope = normal({7, 5, 4, 4}, 17);
  for (const bool half_weights : {false, true}) {
    const auto type = half_weights ? torch::kBFloat16 : torch::kFloat32;
    auto expected = make_layer(5, {});
    run(expected, joined, slope, {});
    auto layer = make_layer(5, {.type = type});
    OpContext context{.batch_norm_ranks = &world()};
    const OpContextScope scope(context);
    auto input = my_rows(joined).clone().requires_grad_();
    const auto output = torch::batch_norm(input,
                                          layer.weight,
                                          layer.bias,
                                          layer.mean,
                                          layer.variance,
                                          true,
                                          0.1,
                                          1e-5,
                                          false);
    const auto y = output.to(torch::kFloat32);
    (my_rows(slope).to(torch::kFloat32) * y + y.pow(3) / 30).sum().backward();
    CHECK(output.scalar_type() == torch::kBFloat16);
    CHECK(layer.weight.grad().scalar_type() == type);
    CHECK(distance(layer.mean, expected.mean) < (half_weights ? 1e-2 : 1e-6));
    CHECK(distance(layer.variance, expected.variance) < (half_weights ? 1e-2 : 1e-6));
    CHECK(distance(output, my_rows(expected.output)) < 1e-2);
    CHECK(distance(input.grad(), my_rows(expected.of_input)) < 2e-2);
    CHECK(distance(summed(layer.weight.grad()), expected.of_weight) < 2e-2);
  }
}

TEST_CASE("A single value over all ranks is refused on all of them", "[tensor][mpi]") {
  if (world().ranks() == 1) return;  // LibTorch's own business
  OpContext context{.batch_norm_ranks = &world()};
  const OpContextScope scope(context);
  const auto input = world().rank() == 0 ? torch::ones({1, 2}) : torch::empty({0, 2});
  CHECK(test::expect_error(
      world(),
      [&] { torch::batch_norm(input, {}, {}, {}, {}, true, 0.1, 1e-5, false); },
      ExitCode::kConfig,
      "more than one value per channel in training, found 1"));
}

TEST_CASE("Nobody has a sample: nothing happens", "[tensor][mpi]") {
  auto layer = make_layer(5, {});
  OpContext context{.batch_norm_ranks = &world()};
  const OpContextScope scope(context);
  if (world().ranks() > 1) {
    run(layer, torch::empty({0, 5, 4, 4}), torch::empty({0, 5, 4, 4}), {});
    CHECK(same_bits(layer.mean, make_layer(5, {}).mean));
    CHECK(same_bits(layer.of_weight, torch::zeros({5})));
  }
}

TEST_CASE("A bias may come without a weight", "[tensor][mpi]") {
  const auto joined = normal({7, 5, 4, 4}, 20);
  auto expected = make_layer(5, {.type = torch::kFloat64});
  auto found = make_layer(5, {.type = torch::kFloat64});
  const auto bias_gradient = [](Layer& layer, const Tensor& rows) {
    torch::batch_norm(rows, {}, layer.bias, {}, {}, true, 0.1, 1e-5, false).pow(3).sum().backward();
    return layer.bias.grad();
  };
  const auto wanted = bias_gradient(expected, joined);
  OpContext context{.batch_norm_ranks = &world()};
  const OpContextScope scope(context);
  CHECK(distance(summed(bias_gradient(found, my_rows(joined))), wanted) < 1e-12);
}

TEST_CASE("Second derivatives are refused, not wrong", "[tensor][mpi]") {
  if (world().ranks() == 1) return;
  OpContext context{.batch_norm_ranks = &world()};
  const OpContextScope scope(context);
  const auto input = torch::randn({4, 2}).requires_grad_();
  const auto sum = torch::batch_norm(input, {}, {}, {}, {}, true, 0.1, 1e-5, false).pow(3).sum();
  CHECK(test::expect_error(
      world(),
      [&] { torch::autograd::grad({sum}, {input}, {}, true, /*create_graph=*/true); },
      ExitCode::kConfig,
      "second derivatives"));
}

TEST_CASE("Ranks that are threads of one process have contexts of their own", "[tensor][mpi]") {
  const auto joined = normal({6, 4, 3, 3}, 18), slope = normal({6, 4, 3, 3}, 19);
  auto expected = make_layer(4, {});
  run(expected, joined, slope, {});
  const auto group = comm::make_local_group(2);
  std::vector<Layer> found(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      auto& layer = found[static_cast<std::size_t>(rank)];
      layer = make_layer(4, {});
      OpContext context{.batch_norm_ranks = group[static_cast<std::size_t>(rank)].get()};
      const OpContextScope scope(context);
      const auto rows = [&](const Tensor& all) {
        return rank == 0 ? all.slice(0, 0, 4) : all.slice(0, 4, 6);
      };
      run(layer, rows(joined), rows(slope), {});
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(distance(torch::cat({found[0].output, found[1].output}), expected.output) < 1e-6);
  CHECK(distance(torch::cat({found[0].of_input, found[1].of_input}), expected.of_input) < 1e-6);
  CHECK(distance(found[0].of_weight + found[1].of_weight, expected.of_weight) < 1e-6);
  CHECK(current_op_context() == nullptr);
}

}  // namespace lockstep
