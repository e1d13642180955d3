// SPDX-License-Identifier: MIT
// Impossible values are refused with the option's name, the value and what is allowed.
#include <functional>
#include <limits>

#include "core/error.hpp"
#include "optim/optimizer.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

using namespace lockstep;
using optim::Options;
using test::lacks;
using test::message_of;

namespace {

std::string refusal(const std::function<void(Options&)>& change) {
  return message_of([&] {
    Options options;
    change(options);
    optim::hyper_of(options);
  });
}

std::string typed(const std::vector<std::string>& arguments) {
  return message_of([&] {
    config::OptionTable table;
    Options options;
    optim::describe(table, options);
    std::vector<std::string> warnings;
    table.parse(arguments, warnings);
    optim::hyper_of(options);
  });
}

}  // namespace

TEST_CASE("the defaults are PyTorch's and pass", "[optim]") {
  const optim::Hyper hyper = optim::hyper_of({});
  CHECK(hyper.rule == optim::Rule::kSgd);
  CHECK(hyper.beta1 == 0.9);
  CHECK(hyper.beta2 == 0.999);
  CHECK(hyper.eps == 1e-8);
}

TEST_CASE("options arrive in the hyper-parameters", "[optim]") {
  config::OptionTable table;
  Options options;
  optim::describe(table, options);
  std::vector<std::string> warnings;
  table.parse({"--optimizer",
               "adamw",
               "--lr",
               "0.003",
               "--betas",
               "0.8, 0.95",
               "--eps",
               "1e-6",
               "--weight-decay",
               "0.1"},
              warnings);
  const optim::Hyper hyper = optim::hyper_of(options);
  CHECK(hyper.rule == optim::Rule::kAdamW);
  CHECK(hyper.lr == 0.003);
  CHECK(hyper.beta1 == 0.8);
  CHECK(hyper.beta2 == 0.95);
  CHECK(hyper.eps == 1e-6);
  CHECK(hyper.weight_decay == 0.1);
}

TEST_CASE("impossible values on the command line are refused", "[optim][K03]") {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--lr", "-0.1"},
                                             {"--lr", "nan"},
                                             {"--lr", "inf"},
                                             {"--momentum", "1"},
                                             {"--momentum", "-0.5"},
                                             {"--weight-decay", "-1"},
                                             {"--eps", "-1e-8"},
                                             {"--clip-norm", "-1"},
                                             {"--warmup-steps", "-1"},
                                             {"--lr-final", "1.5"},
                                             {"--optimizer", "adagrad"},
                                             {"--lr-schedule", "exp"}}) {
    const std::string text = typed(wrong);
    INFO(text);
    CHECK(lacks(text, {wrong[0].substr(2), wrong[1], "allowed"}) == "");
  }
  CHECK(typed({"--lr", "0", "--clip-norm", "0"}) == "(nothing was thrown)");
}

TEST_CASE("impossible values in the struct itself are refused", "[optim][K03]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(refusal([](Options& o) { o.lr = -0.5; }) ==
        "--lr: -0.5 is not allowed; it must be finite and at least 0");
  CHECK(lacks(refusal([&](Options& o) { o.lr = nan; }), {"--lr: nan"}) == "");
  CHECK(lacks(refusal([&](Options& o) { o.lr = infinity; }), {"--lr: inf"}) == "");
  CHECK(lacks(refusal([](Options& o) { o.momentum = 1; }), {"--momentum: 1", "in [0, 1)"}) == "");
  CHECK(lacks(refusal([&](Options& o) { o.momentum = nan; }), {"--momentum: nan"}) == "");
  CHECK(lacks(refusal([&](Options& o) { o.weight_decay = nan; }), {"--weight-decay"}) == "");
  CHECK(lacks(refusal([](Options& o) { o.eps = -1; }), {"--eps"}) == "");
  CHECK(lacks(refusal([](Options& o) { o.clip_norm = -1; }), {"--clip-norm: -1", "0: off"}) == "");
  CHECK(lacks(refusal([](Options& o) { o.optimizer = "lion"; }), {"'lion'", "sgd, adam, adamw"}) ==
        "");
}

TEST_CASE("betas are two numbers below 1", "[optim][K03]") {
  for (const char* wrong :
       {"0.9", "0.9,0.999,0.1", "0.9,1", "-0.1,0.9", "0.9,x", "", "nan,0.9", "0.9;0.999"}) {
    const std::string text = refusal([&](Options& o) { o.betas = wrong; });
    INFO(text);
    CHECK(lacks(text, {"--betas: '" + std::string(wrong) + "'"}) == "");
  }
}

TEST_CASE("nesterov goes with sgd and a momentum", "[optim]") {
  CHECK(lacks(refusal([](Options& o) { o.nesterov = true, o.optimizer = "adam"; }),
              {"--nesterov", "not with adam"}) == "");
  CHECK(lacks(refusal([](Options& o) { o.nesterov = true, o.momentum = 0; }),
              {"--momentum above 0"}) == "");
}
