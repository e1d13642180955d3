// SPDX-License-Identifier: MIT
// The built-in models: sizes and names of their parameters, blocks that make up the forward,
// batches of no samples.
#include <torch/torch.h>

#include "core/text.hpp"
#include "model/parameters.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

using namespace lockstep;
using test::lacks;
using test::message_of;

namespace {

using Options = std::map<std::string, std::string>;
using Shape = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

std::shared_ptr<model::Network> make(const std::string& name,
                                     Shape shape,
                                     std::int64_t classes,
                                     Options options = {}) {
  model::Spec spec;
  spec.sample_shape = std::move(shape);
  spec.num_classes = classes;
  spec.options = std::move(options);
  return model::Registry().make(name, spec, 1);
}

std::int64_t count(const model::Network& network) {
  std::int64_t n = 0;
  for (const NamedTensor& p : model::unique_parameters(network)) n += p.tensor.numel();
  return n;
}

Names names(const model::Network& network) {
  Names out;
  for (const NamedTensor& p : model::unique_parameters(network)) out.push_back(p.name);
  return out;
}

// torchvision's resnet50().named_parameters(), written out by its rule.
Names torchvision_resnet50() {
  Names out{"conv1.weight", "bn1.weight", "bn1.bias"};
  const int blocks[] = {3, 4, 6, 3};
  for (int layer = 1; layer <= 4; ++layer) {
    for (int block = 0; block < blocks[layer - 1]; ++block) {
      const std::string prefix = cat("layer", layer, ".", block, ".");
      for (int i = 1; i <= 3; ++i) {
        out.push_back(cat(prefix, "conv", i, ".weight"));
        out.push_back(cat(prefix, "bn", i, ".weight"));
        out.push_back(cat(prefix, "bn", i, ".bias"));
      }
      if (block != 0) continue;
      for (const char* name : {"0.weight", "1.weight", "1.bias"})
        out.push_back(cat(prefix, "downsample.", name));
    }
  }
  out.insert(out.end(), {"fc.weight", "fc.bias"});
  return out;
}

Names gpt2(int layers) {
  Names out{"wte.weight", "wpe.weight"};
  for (int i = 0; i < layers; ++i) {
    for (const char* part :
         {"ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"}) {
      out.push_back(cat("h.", i, ".", part, ".weight"));
      out.push_back(cat("h.", i, ".", part, ".bias"));
    }
  }
  out.insert(out.end(), {"ln_f.weight", "ln_f.bias"});
  return out;
}

struct Small {
  const char* name;
  Shape shape;
  Options options;
};

std::vector<Small> small_ones() {
  return {
      {"mlp", {1, 8, 8}, {{"hidden", "16,16"}}},
      {"mlp", {12}, {{"hidden", ""}}},
      {"cnn", {1, 8, 8}, {{"width", "4"}}},
      {"cnn", {3, 9, 13}, {{"width", "4"}, {"batchnorm", "1"}, {"dropout", "0.5"}}},
      {"resnet50", {3, 16, 16}, {{"small", "1"}}},
      {"gpt",
       {12},
       {{"layers", "2"}, {"heads", "2"}, {"width", "16"}, {"context", "12"}, {"vocab", "50"}}},
  };
}

torch::Tensor inputs_for(const Small& m, std::int64_t n) {
  Shape shape = m.shape;
  shape.insert(shape.begin(), n);
  return m.name == std::string("gpt") ? torch::randint(50, shape, torch::kLong)
                                      : torch::randn(shape);
}

}  // namespace

TEST_CASE("the models have the sizes of the networks that they are named after", "[model]") {
  CHECK(count(*make("mlp", {2048}, 2048, {{"hidden", "2048,2048,2048,2048,2048"}})) == 25'178'112);
  CHECK(count(*make("cnn", {1, 28, 28}, 10)) == 421'642);
  CHECK(count(*make("resnet50", {3, 224, 224}, 1000)) == 25'557'032);
  CHECK(count(*make("gpt", {128}, 0)) == 5'289'472);
  CHECK(count(*make("mlp", {1, 8, 8}, 10, {{"hidden", ""}})) == 64 * 10 + 10);
}

TEST_CASE("resnet50 has torchvision's names and gpt those of GPT-2", "[model]") {
  CHECK(names(*make("resnet50", {3, 64, 64}, 1000)) == torchvision_resnet50());
  CHECK(names(*make("gpt", {128}, 0)) == gpt2(4));
  CHECK(names(*make("cnn", {1, 28, 28}, 10)) == Names{"conv1.weight",
                                                      "conv1.bias",
                                                      "conv2.weight",
                                                      "conv2.bias",
                                                      "fc1.weight",
                                                      "fc1.bias",
                                                      "fc2.weight",
                                                      "fc2.bias"});
  CHECK(names(*make("mlp", {4}, 2, {{"hidden", "3"}})) ==
        Names{"layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"});
}

TEST_CASE("a batch of no samples gives no outputs and zero gradients", "[model]") {
  for (const Small& m : small_ones()) {
    INFO(m.name);
    auto network = make(m.name, m.shape, 10, m.options);
    const torch::Tensor outputs = network->forward(inputs_for(m, 0));
    CHECK(outputs.size(0) == 0);
    CHECK(outputs.size(-1) == (m.name == std::string("gpt") ? 50 : 10));
    outputs.sum().backward();
    for (const NamedTensor& p : model::trainable_parameters(*network)) {
      INFO(p.name);
      REQUIRE(p.tensor.grad().defined());
      CHECK(p.tensor.grad().abs().sum().item<double>() == 0);
    }
    for (const auto& buffer : network->named_buffers()) {
      INFO(buffer.key());
      CHECK(buffer.value().isfinite().all().item<bool>());
    }
  }
}

TEST_CASE("blocks in order make the forward and hold every parameter", "[model]") {
  for (const Small& m : small_ones()) {
    INFO(m.name);
    auto network = make(m.name, m.shape, 10, m.options);
    network->eval();
    const torch::Tensor inputs = inputs_for(m, 3);
    torch::Tensor x = inputs;
    std::set<const void*> held;
    const std::vector<model::Block> blocks = network->blocks();
    REQUIRE(blocks.size() >= 1);
    for (const model::Block& block : blocks) {
      x = block.forward(x);
      for (const auto& module : block.modules) {
        for (const torch::Tensor& p : module->parameters()) held.insert(p.unsafeGetTensorImpl());
      }
    }
    CHECK(torch::equal(x, network->forward(inputs)));
    CHECK(held.size() == model::unique_parameters(*network).size());
  }
}

TEST_CASE("forward reads parameters where they are, after they were moved", "[model]") {
  for (const Small& m : small_ones()) {
    INFO(m.name);
    auto network = make(m.name, m.shape, 10, m.options);
    network->eval();
    const torch::Tensor inputs = inputs_for(m, 2);
    const torch::Tensor before = network->forward(inputs);
    for (NamedTensor& p : model::unique_parameters(*network))
      p.tensor.set_data(torch::zeros_like(p.tensor));
    CHECK(!torch::equal(before, network->forward(inputs)));
    CHECK(network->forward(inputs).abs().max().item<double>() == 0);
  }
}

TEST_CASE("dropout and batch norm are on when asked for", "[model]") {
  const Options both{{"width", "4"}, {"batchnorm", "1"}, {"dropout", "0.5"}};
  auto network = make("cnn", {1, 8, 8}, 10, both);
  const torch::Tensor inputs = torch::randn({4, 1, 8, 8});
  CHECK(!torch::equal(network->forward(inputs), network->forward(inputs)));
  network->eval();
  CHECK(torch::equal(network->forward(inputs), network->forward(inputs)));
  CHECK(network->named_buffers().contains("bn1.running_mean"));
}

TEST_CASE("gpt takes fewer tokens than its context and does not look ahead", "[model]") {
  const Small m = small_ones().back();
  auto network = make(m.name, m.shape, 0, m.options);
  const torch::Tensor ids = inputs_for(m, 2);
  const torch::Tensor whole = network->forward(ids);
  CHECK(whole.sizes().vec() == Shape{2, 12, 50});
  CHECK(torch::allclose(network->forward(ids.narrow(1, 0, 5)), whole.narrow(1, 0, 5), 1e-5, 1e-6));
  CHECK_THROWS(network->forward(torch::zeros({1, 13}, torch::kLong)));
}

TEST_CASE("gpt begins with the deviations of GPT-2", "[model]") {
  auto network = make("gpt", {128}, 0);
  for (const NamedTensor& p : model::unique_parameters(*network)) {
    if (p.tensor.dim() < 2) continue;
    INFO(p.name);
    CHECK(std::abs(p.tensor.std().item<double>() - 0.02) < 0.0005);
  }
}

TEST_CASE("the default model fits the samples", "[model]") {
  CHECK(model::default_model({1, 28, 28}) == "cnn");
  CHECK(model::default_model({1, 8, 8}) == "cnn");
  CHECK(model::default_model({1, 8, 7}) == "mlp");
  CHECK(model::default_model({64}) == "mlp");
}

TEST_CASE("a model that does not fit the samples says what it needs", "[model]") {
  const auto refusal = [](const char* name, Shape shape, Options options = {}) {
    return message_of([&] { make(name, shape, 10, options); });
  };
  CHECK(lacks(refusal("cnn", {64}), {"[C, H, W]", "[64]", "--model mlp"}) == "");
  CHECK(lacks(refusal("cnn", {1, 3, 28}), {"4 or more", "[1, 3, 28]"}) == "");
  CHECK(lacks(refusal("resnet50", {64}), {"[C, H, W]", "[64]"}) == "");
  CHECK(lacks(refusal("gpt", {129}), {"context=128", "[129]", "context=N"}) == "");
  CHECK(lacks(refusal("gpt", {128}, {{"heads", "3"}}), {"width=256", "heads=3"}) == "");
  CHECK(lacks(message_of([] { make("mlp", {64}, 0); }), {"0 classes"}) == "");
}
