// SPDX-License-Identifier: MIT
#include "parallel/update/replicated.hpp"

#include <cmath>

#include "core/partition.hpp"
#include "core/text.hpp"

namespace lockstep::parallel {
namespace {

constexpr std::int64_t kNormBlock = 64 * 1024;

double squared_norm(std::span<const float> values) {
  double total = 0;
  const auto n = static_cast<std::int64_t>(values.size());
  for (std::int64_t begin = 0; begin < n; begin += kNormBlock) {
    double block = 0;
    for (const float v :
         values.subspan(static_cast<std::size_t>(begin),
                        static_cast<std::size_t>(std::min(kNormBlock, n - begin)))) {
      block += static_cast<double>(v) * v;
    }
    total += block;
  }
  return total;
}

}  // namespace

Replicated::Replicated(std::vector<NamedTensor> parameters, const optim::Hyper& hyper)
    : moment_names_(optim::moment_names(hyper)) {
  for (auto& parameter : parameters) {
    Entry entry{std::move(parameter), {}, torch::zeros({}, torch::kInt64)};
    for (std::size_t m = 0; m < moment_names_.size(); ++m)
      entry.moments.push_back(torch::zeros_like(entry.parameter.tensor).detach());
    entries_.push_back(std::move(entry));
  }
}

double Replicated::gradient_norm(double scale) const {
  double total = 0;
  for (const auto& entry : entries_)
    total += squared_norm(span_of<float>(entry.parameter.tensor.grad()));
  return std::sqrt(total) * std::abs(scale);
}

void Replicated::update(const optim::Hyper& hyper, double scale, const std::vector<char>& skip) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (skip[i]) continue;
    auto& entry = entries_[i];
    const auto values = span_of<float>(entry.parameter.tensor);
    optim::Slice slice;
    slice.parameter = values.data();
    slice.gradient = span_of<float>(entry.parameter.tensor.grad()).data();
    if (!entry.moments.empty()) slice.moment1 = span_of<float>(entry.moments[0]).data();
    if (entry.moments.size() > 1) slice.moment2 = span_of<float>(entry.moments[1]).data();
    slice.n = static_cast<std::int64_t>(values.size());
    const auto step = ++*entry.step.data_ptr<std::int64_t>();
    optim::update(slice, hyper, step, scale);
  }
}

std::vector<NamedTensor> Replicated::state() const {
  std::vector<NamedTensor> out;
  for (const auto& entry : entries_) {
    const auto prefix = cat("optim/", entry.parameter.name, "/");
    out.push_back({prefix + "step", entry.step});
    for (std::size_t m = 0; m < entry.moments.size(); ++m)
      out.push_back({prefix + moment_names_[m], entry.moments[m]});
  }
  return out;
}

}  // namespace lockstep::parallel
