// SPDX-License-Identifier: MIT
#include "study/workload.hpp"

#include <torch/torch.h>

#include <numeric>

#include "core/error.hpp"
#include "core/text.hpp"

namespace lockstep::study {
namespace {

constexpr std::uint64_t kSeed = 20260;

}  // namespace

Workload make_workload(const std::string& name, int rank) {
  if (name != "cnn") throw UsageError(cat("unknown workload '", name, "'; there is cnn"));
  constexpr std::int64_t kSamples = 128;
  Workload out;
  out.name = name;
  model::Spec spec;
  spec.sample_shape = {1, 28, 28};
  spec.num_classes = 10;
  out.network = model::Registry().make("cnn", spec, kSeed);
  torch::manual_seed(kSeed + static_cast<std::uint64_t>(rank));
  out.batch.inputs = torch::randn({kSamples, 1, 28, 28});
  out.batch.targets = torch::randint(10, {kSamples}, torch::kInt64);
  out.batch.sample_ids.resize(kSamples);
  std::iota(out.batch.sample_ids.begin(), out.batch.sample_ids.end(), kSamples * rank);
  out.hyper = {.rule = optim::Rule::kSgd, .lr = 0.003, .momentum = 0.9};
  return out;
}

}  // namespace lockstep::study
