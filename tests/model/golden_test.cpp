// SPDX-License-Identifier: MIT
// Losses and first gradients of the built-in models against PyTorch's own numbers,
// tests/golden/models.json. Parameters and inputs come from a hash that make_golden.py computes
// likewise.
#include <torch/torch.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/version.hpp"
#include "model/parameters.hpp"
#include "model/task.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using nlohmann::json;

namespace {

constexpr std::uint64_t kInputs = 1000, kTargets = 1001;

// make_golden.py: hashed()
std::uint64_t hashed(std::uint64_t element, std::uint64_t tensor) {
  constexpr std::uint64_t kMask = 0xFFFFFFFF;
  std::uint64_t h = (element * 2654435761U + tensor * 40503U + 1) & kMask;
  h ^= h >> 15U;
  h = (h * 1103515245U + 12345U) & kMask;
  return h ^ (h >> 13U);
}

torch::Tensor uniform(torch::IntArrayRef shape, std::uint64_t tensor, double amplitude) {
  torch::Tensor out = torch::empty(shape, torch::kFloat);
  float* values = out.data_ptr<float>();
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    const double unit =
        static_cast<double>(hashed(static_cast<std::uint64_t>(i), tensor)) / 4294967296.0;
    values[i] = static_cast<float>((2 * unit - 1) * amplitude);
  }
  return out;
}

torch::Tensor classes(torch::IntArrayRef shape, std::uint64_t tensor, std::int64_t below) {
  torch::Tensor out = torch::empty(shape, torch::kLong);
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    out.data_ptr<std::int64_t>()[i] = static_cast<std::int64_t>(
        hashed(static_cast<std::uint64_t>(i), tensor) % static_cast<std::uint64_t>(below));
  }
  return out;
}

void fill(model::Network& network) {
  const torch::NoGradGuard no_grad;
  std::uint64_t k = 0;
  for (const NamedTensor& p : model::unique_parameters(network)) {
    if (p.tensor.dim() > 1) {
      const auto fan_in = static_cast<double>(p.tensor.numel() / p.tensor.size(0));
      p.tensor.copy_(uniform(p.tensor.sizes(), k, std::sqrt(6 / fan_in)));
    } else {
      p.tensor.copy_(uniform(p.tensor.sizes(), k, 0.1).to(torch::kDouble) +
                     (p.name.ends_with("weight") ? 1 : 0));
    }
    ++k;
  }
}

json golden_cases() {
  std::ifstream file(std::string(kSourceDir) + "/tests/golden/models.json");
  REQUIRE(file.good());
  return json::parse(file).at("cases");
}

struct Made {
  std::shared_ptr<model::Network> network;
  std::unique_ptr<model::Task> task;
  Batch batch;

  torch::Tensor mean_loss() const {
    const model::Loss loss = task->loss(network->forward(batch.inputs), batch);
    return loss.sum / loss.weight;
  }
};

Made make(const json& c, torch::ScalarType type) {
  model::Spec spec;
  spec.sample_shape = c.at("sample_shape").get<std::vector<std::int64_t>>();
  spec.num_classes = c.at("classes");
  spec.options = c.at("options").get<std::map<std::string, std::string>>();
  const std::string name = c.at("model");
  Made made;
  made.network = model::Registry().make(name, spec, 1);
  made.network->to(type);
  fill(*made.network);
  std::vector<std::int64_t> shape = spec.sample_shape;
  const std::int64_t n = c.at("batch");
  shape.insert(shape.begin(), n);
  made.batch.sample_ids.resize(static_cast<std::size_t>(n));
  if (name == "gpt") {
    made.batch.inputs = classes(shape, kInputs, spec.num_classes);
    made.batch.targets = classes(shape, kTargets, spec.num_classes);
    made.task = model::make_language_model(c.at("label_smoothing"));
  } else {
    made.batch.inputs = uniform(shape, kInputs, 1.0).to(type);
    made.batch.targets = classes({n}, kTargets, spec.num_classes);
    made.task = model::make_classification(c.at("label_smoothing"));
  }
  return made;
}

// Differences of the summaries in units of what a gradient error of relative size `bound` could
// cause; at most 1 is good.
double excess(const json& golden, const torch::Tensor& gradient, double bound, double total_norm) {
  const torch::Tensor g = gradient.to(torch::kDouble).flatten();
  torch::Tensor signs = torch::empty({g.numel()}, torch::kDouble);
  for (std::int64_t i = 0; i < g.numel(); ++i) {
    signs.data_ptr<double>()[i] = (hashed(static_cast<std::uint64_t>(i), 0) & 1U) != 0 ? -1 : 1;
  }
  const double norm = golden.at("norm");
  // A bias in front of a batch norm has no gradient but rounding.
  if (norm <= 1e-12 * total_norm) return g.norm().item<double>() / (bound * total_norm);
  const double sums = norm * std::sqrt(static_cast<double>(g.numel()));
  double worst = std::abs(g.norm().item<double>() - norm) / norm;
  worst = std::max(worst, std::abs(g.sum().item<double>() - golden.at("sum").get<double>()) / sums);
  worst = std::max(worst,
                   std::abs(g.abs().sum().item<double>() - golden.at("abs").get<double>()) / sums);
  worst = std::max(
      worst,
      std::abs((g * signs).sum().item<double>() - golden.at("signed").get<double>()) / sums);
  const auto first = golden.at("first").get<std::vector<double>>();
  for (std::size_t i = 0; i < first.size(); ++i) {
    worst =
        std::max(worst, std::abs(g[static_cast<std::int64_t>(i)].item<double>() - first[i]) / norm);
  }
  return worst / bound;
}

void compare(const json& c, torch::ScalarType type, double bound) {
  INFO(c.at("model") << " " << c.at("options") << " " << torch::toString(type));
  Made made = make(c, type);
  const torch::Tensor loss = made.mean_loss();
  loss.backward();
  const double expected = c.at("loss");
  CHECK(std::abs(loss.item<double>() - expected) <= bound * expected);

  const std::vector<NamedTensor> parameters = model::trainable_parameters(*made.network);
  const double total_norm = c.at("gradient_norm");
  double count = 0, squares = 0;
  for (const NamedTensor& p : parameters) {
    count += static_cast<double>(p.tensor.numel());
    squares += std::pow(p.tensor.grad().norm().item<double>(), 2);
  }
  CHECK(count == c.at("parameters").get<double>());
  CHECK(std::abs(std::sqrt(squares) - total_norm) <= bound * total_norm);

  const json& gradients = c.at("gradients");
  REQUIRE((gradients.empty() || gradients.size() == parameters.size()));
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    INFO(parameters[i].name);
    CHECK(parameters[i].name == gradients[i].at("name").get<std::string>());
    CHECK(parameters[i].tensor.sizes().vec() ==
          gradients[i].at("shape").get<std::vector<std::int64_t>>());
    CHECK(excess(gradients[i], parameters[i].tensor.grad(), bound, total_norm) <= 1);
  }
  // After one forward in training mode: the running statistics are right too.
  made.network->eval();
  const torch::NoGradGuard no_grad;
  const double evaluated = c.at("eval_loss_after");
  CHECK(std::abs(made.mean_loss().item<double>() - evaluated) <= bound * evaluated);
}

}  // namespace

TEST_CASE("losses and first gradients of the built-in models equal PyTorch's in fp64", "[model]") {
  for (const json& c : golden_cases()) compare(c, torch::kDouble, 1e-9);
}

TEST_CASE("losses and first gradients of the small models equal PyTorch's in fp32", "[model]") {
  for (const json& c : golden_cases()) {
    if (c.at("model") != "resnet50") compare(c, torch::kFloat, 1e-6);
  }
}
