// SPDX-License-Identifier: MIT
#include "parallel/ddp/replicas.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "comm/agree.hpp"
#include "core/digest.hpp"
#include "core/text.hpp"

namespace lockstep::parallel {
namespace {

std::string description(const std::string& name, const torch::Tensor& tensor) {
  return cat(name,
             " ",
             dtype_text(tensor.scalar_type()),
             " ",
             shape_text(tensor.sizes()),
             " strides ",
             shape_text(tensor.strides()),
             "\n");
}

std::string first_difference(const std::string& theirs, const std::string& mine) {
  const auto a = split(theirs, '\n');
  const auto b = split(mine, '\n');
  const auto line = [](const std::vector<std::string>& lines, std::size_t i) {
    return i < lines.size() && !lines[i].empty() ? lines[i] : std::string("nothing");
  };
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (line(a, i) != line(b, i)) return cat("rank 0 has ", line(a, i), ", this rank ", line(b, i));
  }
  return "";
}

std::span<const std::byte> bytes_of(const torch::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

// The value that most ranks have; of two equally frequent ones the first.
std::uint64_t majority(const std::vector<std::uint64_t>& values) {
  std::map<std::uint64_t, int> votes;
  for (const auto v : values) ++votes[v];
  return *std::max_element(values.begin(), values.end(), [&](auto a, auto b) {
    return votes[a] < votes[b];
  });
}

}  // namespace

void equalise(model::Network& network, comm::Communicator& communicator) {
  std::string mine;
  for (const auto& item : network.named_parameters()) mine += description(item.key(), item.value());
  for (const auto& item : network.named_buffers()) mine += description(item.key(), item.value());
  const auto theirs = communicator.broadcast(mine, 0);
  comm::agree_on(communicator, [&] {
    if (mine != theirs)
      throw ConfigError(cat("the model differs from rank 0's: ", first_difference(theirs, mine)));
  });
  const torch::NoGradGuard no_grad;
  const auto take = [&](torch::Tensor tensor) {  // bytes in memory order: the strides are equal
    communicator.broadcast(std::span(static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()),
                           0);
  };
  for (const auto& item : network.named_parameters()) take(item.value());
  for (const auto& item : network.named_buffers()) take(item.value());
}

Buffers::Buffers(const model::Network& network) {
  for (const auto& item : network.named_buffers()) tensors_.push_back(item.value());
}

std::vector<float> Buffers::flat(bool contributes) const {
  std::vector<float> row;
  for (const auto& tensor : tensors_) {
    if (!tensor.is_floating_point()) continue;
    const auto values = tensor.to(torch::kFloat32).contiguous();
    const auto span = span_of<float>(values);
    row.insert(row.end(), span.begin(), span.end());
  }
  row.push_back(1);
  if (!contributes) std::fill(row.begin(), row.end(), 0.0F);
  return row;
}

void Buffers::set_mean(std::span<const float> sum) {
  const float count = sum.back();
  if (count == 0) return;
  const torch::NoGradGuard no_grad;
  std::size_t at = 0;
  for (auto& tensor : tensors_) {
    if (!tensor.is_floating_point()) continue;
    auto mean = torch::empty(tensor.sizes());
    for (auto& value : span_of<float>(mean)) value = sum[at++] / count;
    tensor.copy_(mean);
  }
}

void Buffers::agree_counters(comm::Communicator& communicator) {
  std::vector<std::int64_t> counters;
  for (const auto& tensor : tensors_) {
    if (tensor.scalar_type() != torch::kInt64) continue;
    const auto span = span_of<std::int64_t>(tensor);
    counters.insert(counters.end(), span.begin(), span.end());
  }
  if (counters.empty()) return;
  communicator.all_reduce(std::span(counters), comm::Op::kMax);
  std::size_t at = 0;
  for (auto& tensor : tensors_) {
    if (tensor.scalar_type() != torch::kInt64) continue;
    for (auto& value : span_of<std::int64_t>(tensor)) value = counters[at++];
  }
}

std::vector<torch::Tensor> Buffers::snapshot() const {
  std::vector<torch::Tensor> values;
  for (const auto& tensor : tensors_) values.push_back(tensor.clone());
  return values;
}

void Buffers::restore(const std::vector<torch::Tensor>& values) {
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].copy_(values[i]);
}

void check_replicas(const std::vector<NamedTensor>& parameters,
                    const BucketPlan& plan,
                    int bucket,
                    comm::Communicator& communicator) {
  std::vector<std::size_t> members;
  std::vector<std::uint64_t> mine;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (plan.places[i].bucket != bucket) continue;
    members.push_back(i);
    mine.push_back(digest(bytes_of(parameters[i].tensor)));
  }
  const auto ranks = static_cast<std::size_t>(communicator.ranks());
  std::vector<std::uint64_t> all(mine.size() * ranks);
  communicator.all_gather(std::span<const std::uint64_t>(mine), std::span(all));
  std::string found;
  for (std::size_t m = 0; m < members.size(); ++m) {
    std::vector<std::uint64_t> values;
    for (std::size_t r = 0; r < ranks; ++r) values.push_back(all[r * mine.size() + m]);
    const auto right = majority(values);
    for (std::size_t r = 0; r < ranks; ++r) {
      if (values[r] != right)
        found += cat(found.empty() ? "" : "; ",
                     "rank ",
                     r,
                     " has another ",
                     parameters[members[m]].name);
    }
  }
  if (found.empty()) return;
  throw comm::AgreedError(ExitCode::kInternal,
                          cat("the replicas differ in bucket ",
                              bucket,
                              ": ",
                              found,
                              ranks == 2 ? " (of two ranks nobody can say which is right)" : "",
                              ". Memory of that machine, or a write outside the update, is at "
                              "fault; resume from the newest checkpoint"));
}

std::string gradient_report(const std::vector<NamedTensor>& parameters,
                            const std::vector<double>& norms_before,
                            comm::Communicator& communicator) {
  const auto n = parameters.size();
  const auto ranks = static_cast<std::size_t>(communicator.ranks());
  std::vector<std::uint64_t> digests;
  for (const auto& p : parameters) digests.push_back(digest(bytes_of(p.tensor.grad())));
  std::vector<double> before(n * ranks);
  std::vector<std::uint64_t> after(n * ranks);
  communicator.all_gather(std::span<const double>(norms_before), std::span(before));
  communicator.all_gather(std::span<const std::uint64_t>(digests), std::span(after));
  if (communicator.rank() != 0) return "";
  std::string text = "gradient norms: parameter | before, by rank | after\n";
  for (std::size_t i = 0; i < n; ++i) {
    text += cat("  ", parameters[i].name, " |");
    bool same = true;
    for (std::size_t r = 0; r < ranks; ++r) {
      text += cat(" ", before[r * n + i]);
      same = same && after[r * n + i] == after[i];
    }
    text += cat(" | ",
                parameters[i].tensor.grad().norm().item<double>(),
                same ? ", all ranks agree" : ", RANKS DIFFER",
                "\n");
  }
  return text;
}

}  // namespace lockstep::parallel
