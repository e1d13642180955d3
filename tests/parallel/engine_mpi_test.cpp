// SPDX-License-Identifier: MIT
// The engine on real ranks: N ranks equal one rank with the same global batch, whatever the parts;
// exact mode equals it bit for bit; what must not happen is refused by name on all ranks.
#include "parallel/ddp/engine.hpp"

#include <torch/torch.h>

#include <cmath>
#include <numeric>

#include "comm/agree.hpp"
#include "comm/local/local_group.hpp"
#include "core/error.hpp"
#include "model/parameters.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"

namespace lockstep::parallel {
namespace {

using test::world;

// Two layers with BatchNorm between them, and a head that the loss may leave out.
struct TestNetwork : model::Network {
  torch::nn::Linear first{nullptr}, second{nullptr}, unused{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  bool with_norm, with_unused;

  TestNetwork(bool norm_on, bool unused_on) : with_norm(norm_on), with_unused(unused_on) {
    first = register_module("first", torch::nn::Linear(6, 8));
    if (with_norm) norm = register_module("norm", torch::nn::BatchNorm1d(4));
    second = register_module("second", torch::nn::Linear(8, 3));
    if (with_unused) unused = register_module("unused", torch::nn::Linear(8, 3));
  }
  torch::Tensor forward(const torch::Tensor& x) override {
    auto y = first(x);
    if (with_norm) y = norm(y.view({x.size(0), 4, 2})).flatten(1);  // two values a sample
    return second(torch::relu(y));
  }
};

std::shared_ptr<TestNetwork> make_network(bool norm = false, bool unused = false) {
  torch::manual_seed(5);
  return std::make_shared<TestNetwork>(norm, unused);
}

Batch make_batch(std::int64_t samples, std::uint64_t seed) {
  torch::manual_seed(seed);
  Batch batch{torch::randn({samples, 6}), torch::randint(3, {samples}, torch::kInt64), {}, {}};
  batch.sample_ids.resize(static_cast<std::size_t>(samples));
  std::iota(batch.sample_ids.begin(), batch.sample_ids.end(), 0);
  return batch;
}

// Part `rank` of `slots` slots dealt over `ranks` ranks.
StepInput share(const Batch& whole, std::int64_t slots, int ranks, int rank) {
  const auto per_rank = slots / ranks;
  const auto begin = part_of(whole.size(), slots, rank * per_rank).begin;
  const auto end = part_of(whole.size(), slots, (rank + 1) * per_rank - 1).end;
  StepInput input{whole.slice(begin, end), {}, rank * per_rank};
  for (auto s = rank * per_rank; s < (rank + 1) * per_rank; ++s)
    input.slot_sizes.push_back(part_of(whole.size(), slots, s).size());
  return input;
}

const optim::Hyper kSgd{.rule = optim::Rule::kSgd, .lr = 0.05};
const optim::Hyper kAdamW{.rule = optim::Rule::kAdamW, .lr = 0.01, .weight_decay = 0.1};

// Steps of batches of the given sizes by a group of ranks; returns the state afterwards, by name.
std::vector<NamedTensor> train(comm::Communicator& communicator,
                               TestNetwork& network,
                               const std::vector<std::int64_t>& sizes,
                               const optim::Hyper& hyper,
                               EngineConfig config) {
  Recorder recorder;
  const auto task = model::make_classification(0);
  config.nominal_weight = 12;
  const bool exact = config.options.reduce == "exact";
  DdpEngine engine(network, *task, hyper, config, communicator, recorder);
  for (std::size_t step = 0; step < sizes.size(); ++step) {
    const auto batch = make_batch(sizes[step], 100 + step);
    const auto slots = exact ? config.options.slots : communicator.ranks();
    const auto result =
        engine.step(share(batch, slots, communicator.ranks(), communicator.rank()), hyper);
    CHECK(result.weight == static_cast<double>(sizes[step]));
    CHECK(result.ready_ms.size() == static_cast<std::size_t>(communicator.ranks()));
  }
  std::vector<NamedTensor> copy;
  for (const auto& entry : engine.state())
    copy.push_back({entry.name, entry.tensor.detach().clone()});
  return copy;
}

std::vector<NamedTensor> train_alone(bool norm,
                                     const std::vector<std::int64_t>& sizes,
                                     const optim::Hyper& hyper,
                                     const EngineConfig& config) {
  const auto alone = comm::make_local_group(1);
  const auto network = make_network(norm);
  return train(*alone[0], *network, sizes, hyper, config);
}

double worst_difference(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const auto x = a[i].tensor.to(torch::kFloat64), y = b[i].tensor.to(torch::kFloat64);
    worst = std::max(worst, ((x - y).abs().max() / (x.abs().max() + 1e-12)).item<double>());
  }
  return worst;
}

bool equal_bits(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || !torch::equal(a[i].tensor, b[i].tensor)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("N ranks train as one rank with the same batches, also where nothing divides",
          "[parallel][mpi][D01][D03]") {
  for (const bool threaded : {false, true}) {
    EngineConfig config;
    config.communication_thread = threaded;
    config.options.bucket_mb = 0.0001;
    const std::vector<std::int64_t> sizes =
        {12, 12, 7, 1, 12, 5};  // the ranks have uneven parts, some none
    const auto network = make_network();
    const auto together = train(world(), *network, sizes, kSgd, config);
    const auto alone = train_alone(false, sizes, kSgd, config);
    CHECK(worst_difference(alone, together) < 1e-5);
  }
}

TEST_CASE("Accumulation of any number of micro-steps makes the same step", "[parallel][mpi][D05]") {
  for (const std::int64_t accumulate : {1, 2, 5}) {
    EngineConfig config;
    config.accumulate = accumulate;
    const auto network = make_network();
    const auto together = train(world(), *network, {12, 7}, kSgd, config);
    CHECK(worst_difference(train_alone(false, {12, 7}, kSgd, {}), together) < 1e-6);
  }
}

TEST_CASE("Exact mode gives the bits of one rank, with BatchNorm, AdamW and clipping",
          "[parallel][mpi][exact]") {
  if (world().ranks() == 3) return;  // refused before an engine is made: check_exact
  EngineConfig config;
  config.options.reduce = "exact";
  config.options.slots = 4;
  config.clip_norm = 0.1;
  const std::vector<std::int64_t> sizes = {12,
                                           12,
                                           7,
                                           2,
                                           12};  // 2 samples over 4 slots: two are empty
  const auto network = make_network(true);
  const auto together = train(world(), *network, sizes, kAdamW, config);
  CHECK(equal_bits(train_alone(true, sizes, kAdamW, config), together));
}

TEST_CASE("SyncBN trains N ranks as one rank with the joined batch", "[parallel][mpi][D17]") {
  EngineConfig config;
  config.options.batch_norm = "sync";
  const std::vector<std::int64_t> sizes = {12,
                                           12,
                                           7,
                                           12,
                                           2};  // with 3 and 4 ranks some have no sample
  const auto network = make_network(true);
  const auto together = train(world(), *network, sizes, kSgd, config);
  CHECK(worst_difference(train_alone(true, sizes, kSgd, {}), together) < 1e-5);
}

TEST_CASE("Ranks hold the same BatchNorm statistics and count steps, with and without samples",
          "[parallel][mpi][D16]") {
  const auto network = make_network(true);
  const std::vector<std::int64_t> sizes = {12, 12, 2 * world().ranks()};
  const auto state = train(world(), *network, sizes, kSgd, {});
  for (const auto& entry : state) {
    const auto values = entry.tensor.to(torch::kFloat64).contiguous();
    const auto digest = std::as_bytes(span_of<double>(values));
    std::uint64_t sum = 0;
    for (const auto byte : digest) sum = sum * 31 + static_cast<std::uint64_t>(byte);
    CHECK_NOTHROW(comm::agree_equal(world(), sum, entry.name));
    if (entry.name == "model/norm.num_batches_tracked")
      CHECK(entry.tensor.item<std::int64_t>() == 3);
  }
}

TEST_CASE("A parameter without a gradient is an error in the same step, or stays as it is",
          "[parallel][mpi][D09]") {
  const auto network = make_network(false, true);
  CHECK(test::expect_error(
      world(),
      [&] { train(world(), *network, {12}, kSgd, {}); },
      ExitCode::kConfig,
      "unused.weight"));
  EngineConfig zero;
  zero.options.unused = "zero";
  const auto again = make_network(false, true);
  const auto before = again->unused->weight.detach().clone();
  train(world(), *again, {12, 12}, kAdamW, zero);  // weight decay must not move it
  CHECK(torch::equal(before, again->unused->weight));
}

TEST_CASE("Models that differ between ranks are refused with the difference",
          "[parallel][mpi][D20]") {
  if (world().ranks() == 1) return;
  torch::manual_seed(5);
  const auto network = make_network(world().rank() == 1);
  CHECK(test::expect_error(
      world(),
      [&] { train(world(), *network, {12}, kSgd, {}); },
      ExitCode::kConfig,
      "norm.weight"));
}

TEST_CASE("All ranks start with the values of rank 0", "[parallel][mpi][D21]") {
  const auto network = make_network();
  if (world().rank() > 0) {
    const torch::NoGradGuard no_grad;
    for (auto& p : network->parameters()) p.fill_(world().rank());
  }
  const auto state = train(world(), *network, {}, kSgd, {});
  CHECK(equal_bits(train_alone(false, {}, kSgd, {}), state));
}

TEST_CASE("A loss that is not finite stops all ranks before the update", "[parallel][mpi][H10]") {
  const auto network = make_network();
  Recorder recorder;
  const auto task = model::make_classification(0);
  DdpEngine engine(*network, *task, kSgd, {.nominal_weight = 12}, world(), recorder);
  const auto before = network->first->weight.detach().clone();
  auto input = share(make_batch(12, 3), world().ranks(), world().ranks(), world().rank());
  if (world().rank() == world().ranks() - 1) input.part.inputs[0][0] = NAN;
  CHECK(test::expect_error(
      world(),
      [&] { engine.step(input, kSgd); },
      ExitCode::kNotFinite,
      "not finite"));
  CHECK(torch::equal(before, network->first->weight));
}

TEST_CASE("A flipped bit on one rank is named within one round of checks", "[parallel][mpi][D26]") {
  if (world().ranks() == 1) return;
  const auto network = make_network();
  Recorder recorder;
  const auto task = model::make_classification(0);
  EngineConfig config{.nominal_weight = 12};
  config.options.bucket_mb = 0.0001;  // several buckets
  config.options.check_replicas = 1;
  DdpEngine engine(*network, *task, kSgd, config, world(), recorder);
  const auto input = share(make_batch(12, 3), world().ranks(), world().ranks(), world().rank());
  for (int step = 0; step < 2 * engine.reducer().plan().buckets(); ++step)
    engine.step(input, kSgd);  // no false alarm
  if (world().rank() == 1) {
    auto* bits = reinterpret_cast<std::uint32_t*>(network->second->bias.data_ptr<float>());
    bits[1] ^= 1U << 20;  // large enough not to be rounded away by the next update
  }
  CHECK(test::expect_error(
      world(),
      [&] {
        for (int step = 0; step < engine.reducer().plan().buckets(); ++step)
          engine.step(input, kSgd);
      },
      ExitCode::kInternal,
      "another second.bias"));
}

TEST_CASE("A gradient report shows every parameter on every rank", "[parallel][mpi]") {
  const auto network = make_network();
  Recorder recorder;
  const auto task = model::make_classification(0);
  EngineConfig config{.nominal_weight = 12};
  config.options.check_gradients = 1;
  DdpEngine engine(*network, *task, kSgd, config, world(), recorder);
  const auto result =
      engine.step(share(make_batch(12, 3), world().ranks(), world().ranks(), world().rank()), kSgd);
  if (world().rank() != 0) return;
  for (const auto& p : model::trainable_parameters(*network))
    CHECK(result.gradient_report.find(p.name) != std::string::npos);
  CHECK(result.gradient_report.find("all ranks agree") != std::string::npos);
  CHECK(result.gradient_report.find("DIFFER") == std::string::npos);
}

}  // namespace lockstep::parallel
