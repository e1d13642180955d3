// SPDX-License-Identifier: MIT
// Keyed dropout: masks against the generator of core, and what must not change them.
#include "core/random.hpp"
#include "support/catch.hpp"
#include "tensor/normal.hpp"

namespace lockstep {

using test::distance;
using test::normal;
using test::same_bits;
using test::world;
using torch::Tensor;

namespace {

Tensor drop_ones(OpContext context, torch::IntArrayRef shape, double p = 0.5) {
  const OpContextScope scope(context);
  return torch::dropout(torch::ones(shape), p, true);
}

// Element i as core's generator has it, one at a time.
bool kept(const OpContext& key, std::uint32_t call, std::int64_t i, double p) {
  const auto of_slot =
      philox({static_cast<std::uint32_t>(key.step),
              static_cast<std::uint32_t>(key.step >> 32),
              static_cast<std::uint32_t>(key.slot),
              static_cast<std::uint32_t>(Purpose::kDropout)},
             {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)});
  const auto block = static_cast<std::uint64_t>(i / 128 * 32 + i % 32);
  const auto words = philox({static_cast<std::uint32_t>(block),
                             static_cast<std::uint32_t>(block >> 32),
                             call,
                             of_slot[2]},
                            {of_slot[0], of_slot[1]});
  return words[static_cast<std::size_t>(i / 32 % 4)] < std::round((1 - p) * 0x1p32);
}

}  // namespace

TEST_CASE("A mask is a pure function of seed, step, slot, call and place", "[tensor][mpi]") {
  OpContext key{.seed = 0x123456789abcdef, .step = (1ULL << 33) + 5, .slot = 3};
  OpContext context = key;
  const OpContextScope scope(context);
  for (const std::uint32_t call : {0U, 1U}) {
    const auto out = torch::dropout(torch::ones({1003}), 0.3, true);
    int wrong = 0;
    for (std::int64_t i = 0; i < 1003; ++i) {
      const float expected = kept(key, call, i, 0.3) ? static_cast<float>(1 / (1 - 0.3)) : 0.0F;
      wrong += out[i].item<float>() != expected;
    }
    CHECK(wrong == 0);
  }
  CHECK(context.dropout_calls == 2);
}

TEST_CASE("Another seed, step, slot or call is another mask; the same is the same",
          "[tensor][mpi][D22]") {
  const auto first = drop_ones({.seed = 1, .step = 2, .slot = 3}, {50, 40});
  CHECK(same_bits(drop_ones({.seed = 1, .step = 2, .slot = 3}, {50, 40}), first));
  // Half of the elements agree by chance: 1000 of 2000, give or take 22.
  const auto agreeing = [&](const OpContext& other) {
    return (drop_ones(other, {50, 40}) == first).sum().item<std::int64_t>();
  };
  for (const auto& other : {OpContext{.seed = 2, .step = 2, .slot = 3},
                            OpContext{.seed = 1, .step = 3, .slot = 3},
                            OpContext{.seed = 1, .step = 2, .slot = 4},
                            OpContext{.seed = 1, .step = 2, .slot = 3, .dropout_calls = 1}}) {
    CHECK(agreeing(other) > 880);
    CHECK(agreeing(other) < 1120);
  }
}

TEST_CASE("Ranks with slots of their own have masks of their own", "[tensor][mpi][D22]") {
  const auto mine = drop_ones({.seed = 1, .slot = world().rank()}, {1000}).contiguous();
  std::vector<float> all(1000 * static_cast<std::size_t>(world().ranks()));
  world().all_gather(std::span<const float>(span_of<float>(mine)), std::span(all));
  const auto masks = torch::from_blob(all.data(), {world().ranks(), 1000});
  for (int a = 0; a < world().ranks(); ++a) {
    CHECK(same_bits(masks[a], drop_ones({.seed = 1, .slot = a}, {1000})));
    for (int b = 0; b < a; ++b) CHECK_FALSE(torch::equal(masks[a], masks[b]));
  }
}

TEST_CASE("The share of kept elements is 1 - p, in every part of the mask", "[tensor][mpi]") {
  for (const double p : {0.1, 0.5, 0.9}) {
    const auto keep = (drop_ones({.seed = 9}, {1000, 1024}, p) != 0).to(torch::kFloat64);
    const double sigma = std::sqrt(p * (1 - p) / 1024000);
    CHECK(std::abs(keep.mean().item<double>() - (1 - p)) < 4 * sigma);
    const auto rows = keep.mean(1), columns = keep.mean(0);
    CHECK((rows - (1 - p)).abs().max().item<double>() < 5 * sigma * std::sqrt(1000.0));
    CHECK((columns - (1 - p)).abs().max().item<double>() < 5 * sigma * std::sqrt(1024.0));
    // Neighbours do not know of each other.
    const auto flat = keep.view({-1}) - (1 - p);
    const auto both = (flat.slice(0, 1) * flat.slice(0, 0, -1)).mean().item<double>();
    CHECK(std::abs(both) < 5 * p * (1 - p) / std::sqrt(1024000.0));
  }
}

TEST_CASE("The backward uses the forward's mask, once and twice", "[tensor][mpi]") {
  OpContext context{.seed = 4};
  const OpContextScope scope(context);
  const auto input = normal({33, 21}, 5).to(torch::kFloat32).requires_grad_();
  const auto out = torch::dropout(input, 0.4, true);
  const auto factor = (out != 0).to(torch::kFloat32) * static_cast<float>(1 / 0.6);
  CHECK(distance(out, input * factor) < 1e-7);
  const auto first = torch::autograd::grad({out.pow(3).sum()}, {input}, {}, true, true)[0];
  CHECK(distance(first, 3 * out.square() * factor) < 1e-6);
  const auto second = torch::autograd::grad({first.sum()}, {input})[0];
  CHECK(distance(second, 6 * out * factor.square()) < 1e-6);
  CHECK(context.dropout_calls == 1);
}

TEST_CASE("Neither strides nor threads nor the shape's end change a mask", "[tensor][mpi]") {
  const OpContext key{.seed = 6};
  const auto drop = [&](const Tensor& input) {
    OpContext context = key;
    const OpContextScope scope(context);
    return torch::dropout(input, 0.5, true);
  };
  const auto input = normal({5, 6, 7, 8}, 7).to(torch::kFloat32);
  const auto expected = drop(input);
  const auto last = drop(input.contiguous(torch::MemoryFormat::ChannelsLast));
  CHECK(same_bits(last, expected));
  CHECK(last.is_contiguous(torch::MemoryFormat::ChannelsLast));
  CHECK(same_bits(drop(input.transpose(0, 3).contiguous().transpose(0, 3)), expected));
  CHECK(same_bits(drop_ones(key, {100}), drop_ones(key, {1000}).slice(0, 0, 100)));
  const int threads = at::get_num_threads();
  std::vector<Tensor> by_threads;
  for (const int count : {1, 2, 3}) {
    at::set_num_threads(count);
    by_threads.push_back(drop_ones(key, {500000}, 0.2));
  }
  at::set_num_threads(threads);
  CHECK(same_bits(by_threads[0], by_threads[1]));
  CHECK(same_bits(by_threads[0], by_threads[2]));
}

TEST_CASE("A repeated forward draws the same masks, and the step goes on", "[tensor][mpi]") {
  OpContext context{.seed = 8};
  const OpContextScope scope(context);
  const auto draw = [] { return torch::dropout(torch::ones({200}), 0.5, true); };
  const auto zero = draw();
  const auto mark = context.mark();
  const auto one = draw(), two = draw();
  {
    const Recomputation again(context, mark);
    CHECK(context.recomputing);
    CHECK(same_bits(draw(), one));
    CHECK(same_bits(draw(), two));
  }
  CHECK_FALSE(context.recomputing);
  CHECK(context.dropout_calls == 3);
  const auto three = draw();
  for (const auto& other : {zero, one, two}) CHECK_FALSE(same_bits(three, other));
  context.rewind(mark);
  CHECK(same_bits(draw(), one));
}

TEST_CASE("Evaluation and p = 0 are the identity, p = 1 drops all", "[tensor][mpi]") {
  OpContext context{.seed = 1};
  const OpContextScope scope(context);
  const auto input = normal({30}, 1).requires_grad_();
  CHECK(same_bits(torch::dropout(input, 0.5, false), input));
  CHECK(same_bits(torch::dropout(input, 0, true), input));
  const auto none = torch::dropout(input, 1, true);
  CHECK(none.count_nonzero().item<std::int64_t>() == 0);
  CHECK(torch::autograd::grad({none.sum()}, {input})[0].count_nonzero().item<std::int64_t>() == 0);
  CHECK_THROWS(torch::dropout(input, 1.5, true));
  CHECK(torch::dropout(torch::empty({0, 4}), 0.5, true).sizes() == torch::IntArrayRef{0, 4});
  CHECK(context.dropout_calls == 0);
}

TEST_CASE("Plain modules draw keyed masks", "[tensor][mpi]") {
  const auto twice = [](auto module, const Tensor& input) {
    std::vector<Tensor> out;
    for (int i = 0; i < 2; ++i) {
      torch::manual_seed(static_cast<std::uint64_t>(i));  // which must not matter
      OpContext context{.seed = 3};
      const OpContextScope scope(context);
      out.push_back(module->forward(input.clone()));
      CHECK(context.dropout_calls == 1);
    }
    CHECK(same_bits(out[0], out[1]));
    return out[0];
  };
  const auto ones = torch::ones({40, 30, 5, 5});
  const auto rate = [](const Tensor& out) {
    return (out != 0).to(torch::kFloat64).mean().item<double>();
  };
  torch::nn::Sequential net(torch::nn::Dropout(0.25));
  CHECK(rate(twice(net, ones)) == Approx(0.75).margin(0.02));
  const torch::nn::Dropout in_place(torch::nn::DropoutOptions(0.25).inplace(true));
  CHECK(distance(twice(in_place, ones), twice(net, ones)) < 1e-6);
  // Whole channels, or none of one.
  const auto channels = twice(torch::nn::Dropout2d(0.25), ones);
  CHECK(rate(channels) == Approx(0.75).margin(0.06));
  CHECK(torch::equal(channels.amin({2, 3}), channels.amax({2, 3})));
  // Mean 0 and variance 1 stay.
  const auto alpha = twice(torch::nn::AlphaDropout(0.3), normal({300, 300}, 2));
  CHECK(alpha.mean().item<double>() == Approx(0).margin(0.02));
  CHECK(alpha.var().item<double>() == Approx(1).margin(0.03));
  twice(torch::nn::FeatureAlphaDropout(0.3), ones);
  net->eval();
  OpContext context{.seed = 3};
  const OpContextScope scope(context);
  CHECK(same_bits(net->forward(ones), ones));
}

TEST_CASE("Attention's dropout is keyed too", "[tensor][mpi]") {
  const auto attend = [](std::uint64_t seed) {
    const auto q = normal({2, 3, 8, 4}, 1).to(torch::kFloat32).requires_grad_();
    OpContext context{.seed = seed};
    const OpContextScope scope(context);
    return at::scaled_dot_product_attention(q, q, q, {}, 0.5, true);
  };
  const auto first = attend(1);
  CHECK(same_bits(attend(1), first));
  CHECK_FALSE(same_bits(attend(2), first));
}

TEST_CASE("Half types and doubles are scaled in their own way", "[tensor][mpi]") {
  const OpContext key{.seed = 2};
  const auto drop = [&](torch::ScalarType type) {
    OpContext context = key;
    const OpContextScope scope(context);
    return torch::dropout(torch::full({500}, 3.0, type), 0.1, true);
  };
  const auto expected = drop(torch::kFloat64);
  CHECK(expected.max().item<double>() == Approx(3 / 0.9).epsilon(1e-15));
  for (const auto type : {torch::kFloat32, torch::kBFloat16, torch::kHalf}) {
    const auto out = drop(type);
    CHECK(out.scalar_type() == type);
    // One rounding of the product, from fp32 arithmetic.
    CHECK(distance(out, expected.to(type)) < (type == torch::kFloat32 ? 1e-7 : 1e-6));
  }
}

}  // namespace lockstep
