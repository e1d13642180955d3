// SPDX-License-Identifier: MIT
// Names, options and the contract that a model must keep before anybody relocates its parameters.
#include <torch/torch.h>

#include "core/text.hpp"
#include "model/parameters.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

using namespace lockstep;
using test::lacks;
using test::message_of;

namespace {

// A network whose constructor is given, to break the contract in one way each.
class Custom : public model::Network {
 public:
  explicit Custom(const std::function<void(Custom&)>& build) { build(*this); }
  torch::Tensor forward(const torch::Tensor& inputs) override { return inputs; }
};

std::string refusal(const std::function<void(Custom&)>& build) {
  model::Registry registry;
  registry.add("mine", "a test", [&](model::Spec&) { return std::make_shared<Custom>(build); });
  return message_of([&] { registry.make("mine", {}, 1); });
}

std::string made_with(const std::string& name, const std::vector<std::string>& options) {
  return message_of([&] {
    model::Spec spec;
    spec.sample_shape = {1, 8, 8};
    spec.num_classes = 10;
    spec.options = model::parse_options(options);
    model::Registry().make(name, spec, 1);
  });
}

const char* const kFine = "(nothing was thrown)";

}  // namespace

TEST_CASE("an unknown model is refused with the nearest names", "[model]") {
  CHECK(lacks(made_with("resnet5", {}),
              {"--model: 'resnet5'", "did you mean resnet50", "cnn, gpt, mlp, resnet50"}) == "");
  CHECK(lacks(made_with("", {}), {"--model: ''"}) == "");
  CHECK(model::Registry().list().size() == 4);
}

TEST_CASE("model options that the model does not have are refused", "[model][K03]") {
  CHECK(made_with("cnn", {"width=4", "dropout=0.5"}) == kFine);
  CHECK(lacks(made_with("cnn", {"widht=4"}),
              {"widht=4", "model cnn", "did you mean width", "batchnorm, dropout, width"}) == "");
  CHECK(lacks(made_with("cnn", {"width=0"}), {"--model-option width=0", "[1, 4096]"}) == "");
  CHECK(lacks(made_with("cnn", {"width=4.5"}), {"--model-option width=4.5"}) == "");
  CHECK(lacks(made_with("cnn", {"dropout=1"}), {"--model-option dropout=1", "[0, 0.99]"}) == "");
  CHECK(lacks(made_with("mlp", {"hidden=16,-1"}), {"--model-option hidden=16,-1"}) == "");
  CHECK(lacks(made_with("mlp", {"hidden=16,,1"}), {"--model-option hidden=16,,1"}) == "");
  CHECK(lacks(made_with("cnn", {"width"}), {"'width' is not NAME=VALUE"}) == "");
  CHECK(lacks(made_with("cnn", {"=3"}), {"'=3' is not NAME=VALUE"}) == "");
  CHECK(lacks(made_with("cnn", {"width=4", "width=5"}), {"'width' is given twice"}) == "");
}

TEST_CASE("the same seed makes the same model, another one another", "[model]") {
  model::Spec spec;
  spec.sample_shape = {1, 8, 8};
  spec.num_classes = 10;
  const auto first = [&](std::uint64_t seed) {
    return model::unique_parameters(*model::Registry().make("cnn", spec, seed)).front().tensor;
  };
  CHECK(torch::equal(first(1), first(1)));
  CHECK(!torch::equal(first(1), first(2)));
}

TEST_CASE("a model without parameters is refused", "[model][D12]") {
  CHECK(refusal([](Custom&) {}) == "model mine has no parameters: there is nothing to train");
}

TEST_CASE("parameters that cannot be relocated are refused by name", "[model]") {
  CHECK(lacks(refusal([](Custom& m) { m.register_parameter("w", torch::empty({0})); }),
              {"'w'", "lazy"}) == "");
  CHECK(
      lacks(refusal([](Custom& m) { m.register_parameter("w", torch::empty({3}, torch::kMeta)); }),
            {"'w'", "lazy"}) == "");
  CHECK(lacks(refusal([](Custom& m) {
                m.register_parameter("w", torch::zeros({3}).expand({2, 3}));
              }),
              {"'w'", "gaps or overlaps", "contiguous()"}) == "");
  CHECK(lacks(refusal([](Custom& m) {
                m.register_parameter("w", torch::ones({3}, torch::kLong), /*requires_grad=*/false);
              }),
              {"'w'", "int64", "buffer"}) == "");
  CHECK(lacks(refusal([](Custom& m) {
                const torch::Tensor base = m.register_parameter("a", torch::ones({3}));
                m.register_parameter("b", base * 2);
              }),
              {"'b'", "leaf"}) == "");
}

TEST_CASE("parameters that share a storage are refused unless they are one tensor",
          "[model][D11]") {
  const std::string shared = refusal([](Custom& m) {
    const torch::Tensor block = torch::ones({6});
    m.register_parameter("a", block.narrow(0, 0, 3));
    m.register_parameter("b", block.narrow(0, 3, 3));
  });
  CHECK(lacks(shared, {"'a' and 'b'", "one storage", "same tensor under both names", "clone()"}) ==
        "");
  const std::string buffer = refusal([](Custom& m) {
    const torch::Tensor a = m.register_parameter("a", torch::ones({3}));
    m.register_buffer("mean", a.detach());
  });
  CHECK(lacks(buffer, {"'a' and 'mean'"}) == "");
  CHECK(refusal([](Custom& m) {
          const torch::Tensor a = m.register_parameter("a", torch::ones({3}));
          m.register_parameter("b", a);
        }) == kFine);
}

TEST_CASE("a name is taken once", "[model]") {
  model::Registry registry;
  CHECK(lacks(message_of([&] { registry.add("cnn", "", [](model::Spec&) { return nullptr; }); }),
              {"'cnn'", "twice"}) == "");
  registry.add("empty", "", [](model::Spec&) { return nullptr; });
  CHECK(lacks(message_of([&] { registry.make("empty", {}, 1); }), {"empty", "made nothing"}) == "");
}

TEST_CASE("the model group of options is read and checked", "[model][K03]") {
  const auto parse = [](const std::vector<std::string>& arguments, model::Options& options) {
    config::OptionTable table;
    model::describe(table, options);
    std::vector<std::string> warnings;
    table.parse(arguments, warnings);
  };
  model::Options options;
  parse({"--model",
         "cnn",
         "--model-option",
         "width=4",
         "--model-option",
         "dropout=0.1",
         "--freeze",
         "conv1.*",
         "--label-smoothing",
         "0.1"},
        options);
  CHECK(options.model == "cnn");
  CHECK(model::parse_options(options.model_options) ==
        std::map<std::string, std::string>{{"width", "4"}, {"dropout", "0.1"}});
  CHECK(options.freeze == std::vector<std::string>{"conv1.*"});
  CHECK(options.label_smoothing == 0.1);
  for (const char* wrong : {"-0.1", "1.5", "nan"}) {
    CHECK(lacks(message_of([&] {
                  parse({"--label-smoothing", wrong}, options);
                }),
                {"label-smoothing", wrong}) == "");
  }
}
