// SPDX-License-Identifier: MIT
// Loss sums and weights: parts of a batch add up to the whole, weights count, empty batches are
// zeros that reach the outputs.
#include "model/task.hpp"

#include <torch/torch.h>

#include "support/catch.hpp"
#include "support/messages.hpp"

using namespace lockstep;
using test::lacks;
using test::message_of;

namespace {

Batch labels(std::vector<std::int64_t> values) {
  Batch batch;
  batch.sample_ids.resize(values.size());
  batch.targets = torch::tensor(values, torch::kLong);
  batch.inputs = torch::zeros({batch.size(), 1});
  return batch;
}

Batch tokens(const torch::Tensor& targets) {
  Batch batch;
  batch.sample_ids.resize(static_cast<std::size_t>(targets.size(0)));
  batch.targets = targets;
  batch.inputs = targets;
  return batch;
}

bool near(const torch::Tensor& a, const torch::Tensor& b) {
  return torch::allclose(a, b.to(a.scalar_type()), 1e-6, 1e-6);
}

}  // namespace

TEST_CASE("classification is PyTorch's cross entropy, as a sum", "[model]") {
  const torch::Tensor outputs = torch::randn({5, 4});
  const Batch batch = labels({0, 3, 1, 1, 2});
  for (const double smoothing : {0.0, 0.1}) {
    const model::Loss loss = model::make_classification(smoothing)->loss(outputs, batch);
    const auto options =
        torch::nn::functional::CrossEntropyFuncOptions().label_smoothing(smoothing);
    CHECK(near(loss.sum / loss.weight,
               torch::nn::functional::cross_entropy(outputs, batch.targets, options)));
    CHECK(loss.weight == 5);
    CHECK(loss.sum.scalar_type() == torch::kFloat);
  }
}

TEST_CASE("label smoothing follows its formula", "[model]") {
  const torch::Tensor outputs = torch::randn({3, 4});
  const Batch batch = labels({2, 0, 1});
  const torch::Tensor log_p = torch::log_softmax(outputs, 1);
  const torch::Tensor of_target = log_p.gather(1, batch.targets.unsqueeze(1)).sum();
  const torch::Tensor expected = -(0.9 * of_target + 0.1 * log_p.mean(1).sum());
  CHECK(near(model::make_classification(0.1)->loss(outputs, batch).sum, expected));
}

TEST_CASE("weights multiply the losses of their samples", "[model]") {
  const torch::Tensor outputs = torch::randn({3, 4});
  Batch batch = labels({2, 0, 1});
  const auto task = model::make_classification(0);
  torch::Tensor expected = torch::zeros({});
  const double weights[] = {0.5, 0, 2};
  for (std::int64_t i = 0; i < 3; ++i) {
    Batch one = labels({batch.targets[i].item<std::int64_t>()});
    expected = expected + weights[i] * task->loss(outputs.narrow(0, i, 1), one).sum;
  }
  batch.weights = torch::tensor({0.5F, 0.0F, 2.0F});
  const model::Loss loss = task->loss(outputs, batch);
  CHECK(near(loss.sum, expected));
  CHECK(loss.weight == 2.5);
  CHECK(task->weight(batch) == 2.5);
  const model::Counts counts = task->count(outputs, batch);
  CHECK(std::abs(counts.loss_sum - expected.item<double>()) < 1e-6);
  CHECK(counts.weight == 2.5);
}

TEST_CASE("an empty batch is a zero that is connected to the outputs", "[model]") {
  for (const bool lm : {false, true}) {
    const auto task = lm ? model::make_language_model(0) : model::make_classification(0.1);
    const Batch batch = lm ? tokens(torch::zeros({0, 6}, torch::kLong)) : labels({});
    torch::Tensor outputs = lm ? torch::zeros({0, 6, 9}) : torch::zeros({0, 9});
    outputs.set_requires_grad(true);
    const model::Loss loss = task->loss(outputs, batch);
    CHECK(loss.sum.item<double>() == 0);
    CHECK(loss.weight == 0);
    loss.sum.backward();
    CHECK(outputs.grad().defined());
    const model::Counts counts = task->count(outputs.detach(), batch);
    CHECK((counts.samples == 0 && counts.predictions == 0 && counts.correct == 0 &&
           counts.loss_sum == 0));
  }
}

TEST_CASE("parts of a batch add up to the whole", "[model]") {
  const auto task = model::make_classification(0);
  const torch::Tensor outputs = torch::randn({7, 4});
  const Batch batch = labels({0, 3, 1, 1, 2, 0, 3});
  const model::Counts whole = task->count(outputs, batch);
  model::Counts sum;
  for (const auto& [begin, end] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 3}, {3, 3}, {3, 7}}) {
    const model::Counts part =
        task->count(outputs.narrow(0, begin, end - begin), batch.slice(begin, end));
    sum.samples += part.samples;
    sum.correct += part.correct;
    sum.loss_sum += part.loss_sum;
  }
  CHECK(sum.samples == whole.samples);
  CHECK(sum.correct == whole.correct);
  CHECK(std::abs(sum.loss_sum - whole.loss_sum) < 1e-12);
}

TEST_CASE("correct counts the largest logit", "[model]") {
  const torch::Tensor outputs = torch::tensor({{0.F, 1.F}, {3.F, 1.F}, {0.F, 5.F}});
  const model::Counts counts = model::make_classification(0)->count(outputs, labels({1, 0, 0}));
  CHECK(counts.samples == 3);
  CHECK(counts.predictions == 3);
  CHECK(counts.correct == 2);
}

TEST_CASE("language modelling counts tokens and leaves ignored ones out", "[model]") {
  const torch::Tensor outputs = torch::randn({2, 3, 5});
  const torch::Tensor targets = torch::tensor({1, 2, -100, 0, 4, 3}, torch::kLong).reshape({2, 3});
  const auto task = model::make_language_model(0);
  Batch batch = tokens(targets);
  const model::Loss loss = task->loss(outputs, batch);
  CHECK(loss.weight == 5);
  CHECK(task->weight(batch) == 5);
  CHECK(near(loss.sum / 5,
             torch::nn::functional::cross_entropy(outputs.reshape({6, 5}), targets.reshape({6}))));
  CHECK(near(task->loss(outputs.reshape({6, 5}), batch).sum, loss.sum));
  const model::Counts counts = task->count(outputs, batch);
  CHECK(counts.samples == 2);
  CHECK(counts.predictions == 5);
  CHECK(counts.correct == outputs.argmax(2).eq(targets).sum().item<std::int64_t>());

  batch.weights = torch::tensor({2.0F, 0.5F});
  CHECK(task->weight(batch) == 2 * 2 + 0.5 * 3);
  const torch::Tensor first =
      task->loss(outputs.narrow(0, 0, 1), tokens(targets.narrow(0, 0, 1))).sum;
  const torch::Tensor second =
      task->loss(outputs.narrow(0, 1, 1), tokens(targets.narrow(0, 1, 1))).sum;
  CHECK(near(task->loss(outputs, batch).sum, 2 * first + 0.5 * second));
}

TEST_CASE("outputs of few bits are widened before the loss", "[model]") {
  const Batch batch = labels({0, 3});
  const torch::Tensor outputs = torch::randn({2, 4}).to(torch::kBFloat16);
  const auto task = model::make_classification(0);
  CHECK(task->loss(outputs, batch).sum.scalar_type() == torch::kFloat);
  CHECK(torch::equal(task->loss(outputs, batch).sum,
                     task->loss(outputs.to(torch::kFloat), batch).sum));
}

TEST_CASE("outputs that do not fit the targets are refused with both shapes", "[model]") {
  const auto task = model::make_classification(0);
  CHECK(lacks(message_of([&] {
                task->loss(torch::zeros({3, 4}), labels({0, 1}));
              }),
              {"classification", "[3, 4]", "[2]", "2 samples"}) == "");
  CHECK(lacks(message_of([&] {
                task->loss(torch::zeros({2, 1, 4}), labels({0, 1}));
              }),
              {"[2, 1, 4]"}) == "");
  CHECK(lacks(message_of([&] {
                model::make_language_model(0)->loss(torch::zeros({2, 5}),
                                                    tokens(torch::zeros({2, 3}, torch::kLong)));
              }),
              {"lm", "[2, 5]", "[2, 3]"}) == "");
}

TEST_CASE("auto finds the task by the targets", "[model]") {
  const auto weight_of =
      [](const std::string& name, const model::TargetInfo& info, const Batch& batch) {
        return model::make_task(name, info, 0)->weight(batch);
      };
  CHECK(weight_of("auto", {true, {}}, labels({1, 2})) == 2);
  CHECK(weight_of("auto", {true, {3}}, tokens(torch::zeros({2, 3}, torch::kLong))) == 6);
  CHECK(lacks(message_of([] {
                model::make_task("auto", {false, {3}}, 0);
              }),
              {"--task auto", "real targets of shape [3]"}) == "");
  CHECK(lacks(message_of([] {
                model::make_task("lm", {true, {}}, 0);
              }),
              {"--task lm", "shape []"}) == "");
  CHECK(lacks(message_of([] {
                model::make_task("classification", {true, {3}}, 0);
              }),
              {"--task classification", "[3]"}) == "");
  CHECK(lacks(message_of([] {
                model::make_task("ranking", {true, {}}, 0);
              }),
              {"'ranking'", "auto, classification, lm"}) == "");
}
