// SPDX-License-Identifier: MIT
// Slices: however a parameter is cut, every element gets the same bits. Values against PyTorch are
// in torch_oracle_test.cpp.
#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.hpp"
#include "core/random.hpp"
#include "optim/optimizer.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using optim::Hyper;
using optim::Rule;

namespace {

constexpr std::int64_t kElements = 1003;

struct State {
  std::vector<float> parameter, gradient, moment1, moment2;

  explicit State(std::uint64_t seed) {
    for (std::uint64_t i = 0; i < kElements; ++i) {
      parameter.push_back(static_cast<float>(random_uniform(seed, Purpose::kTest, i, 0) - 0.5));
      gradient.push_back(static_cast<float>(random_uniform(seed, Purpose::kTest, i, 1) - 0.5));
    }
    moment1.assign(kElements, 0.0F);
    moment2.assign(kElements, 0.0F);
  }

  optim::Slice slice(std::int64_t begin, std::int64_t end) {
    return {parameter.data() + begin,
            gradient.data() + begin,
            moment1.data() + begin,
            moment2.data() + begin,
            end - begin};
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void train(State& state, const Hyper& hyper, const std::vector<std::int64_t>& cuts) {
  for (std::int64_t step = 1; step <= 3; ++step) {
    std::int64_t begin = 0;
    for (const std::int64_t end : cuts) {
      optim::update(state.slice(begin, end), hyper, step, 0.3);
      begin = end;
    }
    optim::update(state.slice(begin, kElements), hyper, step, 0.3);
  }
}

std::vector<Hyper> all_rules() {
  return {
      {.rule = Rule::kSgd, .lr = 0.1},
      {.rule = Rule::kSgd, .lr = 0.1, .weight_decay = 0.01, .momentum = 0.9},
      {.rule = Rule::kSgd, .lr = 0.1, .weight_decay = 0.01, .momentum = 0.9, .nesterov = true},
      {.rule = Rule::kAdam, .lr = 0.01, .weight_decay = 0.1},
      {.rule = Rule::kAdamW, .lr = 0.01, .weight_decay = 0.1},
  };
}

}  // namespace

TEST_CASE("any cutting into slices gives the same bits", "[optim]") {
  const std::vector<std::vector<std::int64_t>> cuttings = {{1},
                                                           {7, 8, 9},
                                                           {16, 33, 500},
                                                           {3, 4, 4, 97, 641, 1002},
                                                           {0, 1003}};
  for (const Hyper& hyper : all_rules()) {
    State whole(5);
    train(whole, hyper, {});
    for (const auto& cuts : cuttings) {
      State cut(5);
      train(cut, hyper, cuts);
      CHECK(same_bits(whole.parameter, cut.parameter));
      CHECK(same_bits(whole.moment1, cut.moment1));
      CHECK(same_bits(whole.moment2, cut.moment2));
    }
  }
}

TEST_CASE("one element at a time gives the same bits", "[optim]") {
  std::vector<std::int64_t> cuts;
  for (std::int64_t i = 1; i < kElements; ++i) cuts.push_back(i);
  for (const Hyper& hyper : all_rules()) {
    State whole(6), cut(6);
    train(whole, hyper, {});
    train(cut, hyper, cuts);
    CHECK(same_bits(whole.parameter, cut.parameter));
  }
}

TEST_CASE("a power of two as gradient scale is the same as scaled gradients", "[optim]") {
  for (const Hyper& hyper : all_rules()) {
    State scaled(7), plain(7);
    for (float& g : scaled.gradient) g *= 4.0F;
    optim::update(scaled.slice(0, kElements), hyper, 1, 0.25);
    optim::update(plain.slice(0, kElements), hyper, 1, 1.0);
    CHECK(same_bits(scaled.parameter, plain.parameter));
  }
}

TEST_CASE("the first step of momentum does not read what lies in the buffer", "[optim]") {
  for (const bool nesterov : {false, true}) {
    const Hyper hyper{.rule = Rule::kSgd, .lr = 0.1, .momentum = 0.9, .nesterov = nesterov};
    State clean(8), dirty(8);
    dirty.moment1.assign(kElements, std::numeric_limits<float>::quiet_NaN());
    optim::update(clean.slice(0, kElements), hyper, 1, 1.0);
    optim::update(dirty.slice(0, kElements), hyper, 1, 1.0);
    CHECK(same_bits(clean.parameter, dirty.parameter));
    CHECK(same_bits(clean.moment1, dirty.moment1));
  }
}

TEST_CASE("a learning rate of 0 leaves the parameters and moves the moments", "[optim][K03]") {
  for (Hyper hyper : all_rules()) {
    hyper.lr = 0;
    State state(9);
    const std::vector<float> before = state.parameter;
    optim::update(state.slice(0, kElements), hyper, 1, 1.0);
    CHECK(same_bits(before, state.parameter));
    const bool moves = !optim::moment_names(hyper).empty();
    CHECK((state.moment1[0] != 0.0F) == moves);
  }
}

TEST_CASE("the gradient is left as it was and an empty slice does nothing", "[optim]") {
  State state(10);
  const std::vector<float> gradient = state.gradient;
  optim::update(state.slice(0, kElements), all_rules()[4], 1, 0.5);
  CHECK(same_bits(gradient, state.gradient));
  optim::update(optim::Slice{}, all_rules()[4], 1, 0.5);
}

TEST_CASE("a rule without the moments that it keeps is a bug, not a crash", "[optim]") {
  State state(11);
  optim::Slice slice = state.slice(0, 4);
  slice.moment1 = nullptr;
  CHECK_THROWS_AS(optim::update(slice, all_rules()[1], 1, 1.0), InternalError);
  CHECK_THROWS_AS(optim::update(slice, all_rules()[3], 1, 1.0), InternalError);
  CHECK_THROWS_AS(optim::update(state.slice(0, 4), all_rules()[0], 0, 1.0), InternalError);
}

TEST_CASE("moments are named as in PyTorch's state", "[optim]") {
  using Names = std::vector<std::string>;
  CHECK(optim::moment_names({.rule = Rule::kSgd}).empty());
  CHECK(optim::moment_names({.rule = Rule::kSgd, .momentum = 0.9}) == Names{"momentum_buffer"});
  CHECK(optim::moment_names({.rule = Rule::kAdam}) == Names{"exp_avg", "exp_avg_sq"});
  CHECK(optim::moment_names({.rule = Rule::kAdamW}) == Names{"exp_avg", "exp_avg_sq"});
}
