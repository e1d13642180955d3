// SPDX-License-Identifier: MIT
// The documented formulas, step by step.
#include <cmath>
#include <functional>
#include <numbers>

#include "core/error.hpp"
#include "optim/optimizer.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

using namespace lockstep;
using optim::Options;
using optim::Schedule;
using test::lacks;

namespace {

Options with(const std::string& kind, double lr, std::int64_t warmup = 0) {
  Options options;
  options.lr_schedule = kind;
  options.lr = lr;
  options.warmup_steps = warmup;
  return options;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-12; }

std::string refusal(const Options& options, std::int64_t total = 100, std::int64_t per_epoch = 10) {
  return test::message_of([&] { const Schedule schedule(options, total, per_epoch); });
}

}  // namespace

TEST_CASE("warm-up rises linearly and the full rate comes right after it", "[optim][D27]") {
  for (const char* kind : {"constant", "cosine", "linear"}) {
    const Schedule schedule(with(kind, 0.4, 10), 100, 5);
    for (int step = 0; step < 10; ++step) CHECK(schedule.lr(step) == 0.4 * (step + 1) / 10);
    CHECK(schedule.lr(10) == 0.4);
  }
  const Schedule constant(with("constant", 0.4, 10), 100, 5);
  CHECK(constant.lr(1'000'000) == 0.4);
  CHECK(Schedule(with("constant", 0.1), 0, 0).lr(0) == 0.1);
}

TEST_CASE("the rate of a step does not depend on what was asked before", "[optim][D27]") {
  const Schedule through(with("cosine", 0.4, 10), 100, 5);
  for (int step = 0; step < 57; ++step) through.lr(step);
  const Schedule resumed(with("cosine", 0.4, 10), 100, 5);
  CHECK(through.lr(57) == resumed.lr(57));
}

TEST_CASE("steps multiply the rate every N steps or epochs", "[optim]") {
  Options options = with("step", 1.0);
  options.lr_step = "500,0.1";
  const Schedule steps(options, 2000, 7);
  CHECK(steps.lr(0) == 1.0);
  CHECK(steps.lr(499) == 1.0);
  CHECK(steps.lr(500) == 0.1);
  CHECK(near(steps.lr(1499), 0.01));
  options.lr_step = "30e,0.5";
  const Schedule epochs(options, 2000, 7);
  CHECK(epochs.lr(209) == 1.0);
  CHECK(epochs.lr(210) == 0.5);
  CHECK(epochs.lr(420) == 0.25);
}

TEST_CASE("cosine and linear end at their share of the rate and stay there", "[optim]") {
  Options options = with("cosine", 0.8, 20);
  options.lr_final = 0.25;
  const Schedule cosine(options, 120, 10);
  CHECK(near(cosine.lr(70), 0.8 * (0.25 + 0.75 * 0.5)));
  CHECK(near(cosine.lr(45), 0.8 * (0.25 + 0.75 * (1 + std::cos(std::numbers::pi / 4)) / 2)));
  CHECK(near(cosine.lr(120), 0.2));
  CHECK(cosine.lr(500) == cosine.lr(120));
  options.lr_schedule = "linear";
  const Schedule linear(options, 120, 10);
  CHECK(near(linear.lr(45), 0.8 * (0.25 + 0.75 * 0.75)));
  CHECK(near(linear.lr(120), 0.2));
  CHECK(Schedule(with("linear", 0.8), 10, 10).lr(10) == 0.0);
}

TEST_CASE("a schedule without what it needs is refused", "[optim][K03]") {
  CHECK(lacks(refusal(with("step", 0.1)), {"--lr-step", "30e,0.1"}) == "");
  CHECK(lacks(refusal(with("poly", 0.1)), {"'poly'", "constant, step, cosine, linear"}) == "");
  CHECK(lacks(refusal(with("cosine", 0.1, 100)), {"spans 100 steps", "--warmup-steps is 100"}) ==
        "");
  CHECK(lacks(refusal(with("linear", 0.1), 0), {"spans 0 steps"}) == "");
  Options options = with("constant", 0.1, -1);
  CHECK(lacks(refusal(options), {"--warmup-steps: -1"}) == "");
  options = with("cosine", 0.1);
  options.lr_final = -0.5;
  CHECK(lacks(refusal(options), {"--lr-final: -0.5"}) == "");
  options = with("cosine", 0.1);
  options.lr_step = "10,0.1";
  CHECK(lacks(refusal(options), {"--lr-step 10,0.1 needs --lr-schedule step"}) == "");
  for (const char* wrong : {"10",
                            "0,0.1",
                            "10,0",
                            "10,1.5",
                            "-3,0.1",
                            "1.5e,0.1",
                            "e,0.1",
                            "10,nan",
                            "10,0.1,3",
                            "9223372036854775807e,0.1"}) {
    options = with("step", 0.1);
    options.lr_step = wrong;
    INFO(wrong);
    CHECK(lacks(refusal(options), {"--lr-step: '" + std::string(wrong) + "'"}) == "");
  }
}
