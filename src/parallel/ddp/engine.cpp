// SPDX-License-Identifier: MIT
#include "parallel/ddp/engine.hpp"

#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>

#include "comm/agree.hpp"
#include "core/text.hpp"
#include "model/parameters.hpp"
#include "parallel/exact/slot_tree.hpp"

namespace lockstep::parallel {
namespace {

std::vector<ParameterSize> sizes_of(const std::vector<NamedTensor>& parameters) {
  std::vector<ParameterSize> sizes;
  for (const auto& p : parameters) sizes.push_back({p.name, p.tensor.numel()});
  return sizes;
}

}  // namespace

DdpEngine::DdpEngine(model::Network& network,
                     const model::Task& task,
                     const optim::Hyper& hyper,
                     EngineConfig config,
                     comm::Communicator& communicator,
                     Recorder& recorder)
    : network_(network),
      task_(task),
      config_(std::move(config)),
      communicator_(communicator),
      recorder_(recorder) {
  equalise(network_, communicator_);
  const auto parameters = model::trainable_parameters(network_);
  const auto cap = static_cast<std::int64_t>(config_.options.bucket_mb * (1 << 20) / sizeof(float));
  auto plan = plan_buckets(sizes_of(parameters), reverse_order(parameters.size()), cap);
  comm::agree_equal(communicator_, plan.digest(), "the bucket plans");
  auto channel =
      std::make_unique<BucketChannel>(communicator_.duplicate(), config_.communication_thread);
  comm::agree_on(communicator_, [&] {
    reducer_ = std::make_unique<Reducer>(parameters, std::move(plan), std::move(channel));
  });
  update_ = std::make_unique<Replicated>(parameters, hyper);
  buffers_.emplace(network_);
  if (sync_batch_norm()) batch_norm_ranks_ = communicator_.duplicate();
  install_op_overrides();
}

StepResult DdpEngine::step(const StepInput& input, const optim::Hyper& hyper) {
  network_.train();
  ++steps_;
  since_step_.restart();
  const auto due = [&](std::int64_t every) { return every > 0 && steps_ % every == 0; };
  reducer_->begin_step(due(config_.options.check_gradients));
  const auto losses = exact() ? run_exact(input) : run_fast(input);

  StepResult result;
  const auto skip = exchange_reports(losses, reducer_->missing(), input.part.size() > 0, result);
  const double scale = config_.nominal_weight / result.weight;
  result.gradient_norm = update_->gradient_norm(scale);
  check_finite(result);
  if (due(config_.options.check_gradients)) {
    result.gradient_report =
        gradient_report(reducer_->parameters(), reducer_->local_norms(), communicator_);
  }
  recorder_.enter(Phase::kUpdate);
  const bool clip = config_.clip_norm > 0 && result.gradient_norm > config_.clip_norm;
  update_->update(hyper, clip ? scale * config_.clip_norm / result.gradient_norm : scale, skip);
  if (due(config_.options.check_replicas)) {
    const auto round = steps_ / config_.options.check_replicas - 1;
    check_replicas(reducer_->parameters(),
                   reducer_->plan(),
                   static_cast<int>(round % reducer_->plan().buckets()),
                   communicator_);
  }
  settle_plan();
  return result;
}

// The first step shows in which order backward makes gradients; from the second one on buckets fill
// in rank 0's order.
void DdpEngine::settle_plan() {
  if (plan_settled_) return;
  plan_settled_ = true;
  auto order = reducer_->seen_order();
  communicator_.broadcast(std::span(order), 0);
  reducer_->replan(std::move(order));
}

void DdpEngine::adopt_bucket_order(const std::vector<std::int64_t>& order) {
  auto sorted = std::vector<int>(order.begin(), order.end());
  std::sort(sorted.begin(), sorted.end());
  auto all = reverse_order(reducer_->parameters().size());
  std::reverse(all.begin(), all.end());
  if (sorted != all) return;
  reducer_->replan({order.begin(), order.end()});
  plan_settled_ = true;
}

OpContext DdpEngine::op_context(std::int64_t slot) const {
  OpContext context;
  context.seed = config_.seed;
  context.step = static_cast<std::uint64_t>(recorder_.step());
  context.slot = static_cast<std::int32_t>(slot);
  context.batch_norm_ranks = batch_norm_ranks_.get();
  return context;
}

void DdpEngine::run_micro_batch(const Batch& micro,
                                OpContext& context,
                                double& loss_sum,
                                double& weight) {
  const OpContextScope scope(context);
  recorder_.enter(Phase::kForward);
  const auto loss = task_.loss(network_.forward(micro.inputs), micro);
  recorder_.enter(Phase::kBackward);
  (loss.sum / config_.nominal_weight).backward();
  loss_sum += loss.sum.item<double>();
  weight += loss.weight;
}

DdpEngine::SlotLosses DdpEngine::run_fast(const StepInput& input) {
  SlotLosses losses(2, 0);
  const auto& part = input.part;
  auto context = op_context(input.first_slot);
  // Empty micro-batches are left out, but for SyncBN, in which every rank takes part every time.
  const auto micro_steps =
      sync_batch_norm() ? config_.accumulate : std::min(config_.accumulate, part.size());
  for (std::int64_t k = 0; k < micro_steps; ++k) {
    std::optional<Reducer::NoSync> no_sync;
    if (k + 1 < micro_steps) no_sync.emplace(*reducer_);
    const auto range = part_of(part.size(), micro_steps, k);
    run_micro_batch(micro_steps == 1 ? part : part.slice(range.begin, range.end),
                    context,
                    losses[0],
                    losses[1]);
  }
  ready_ms_ = since_step_.ms();
  recorder_.enter(Phase::kReduce);
  reducer_->finish();
  if (communicator_.ranks() > 1 && !buffers_->empty()) {
    if (!sync_batch_norm()) {  // there they are equal already
      auto row = buffers_->flat(part.size() > 0);
      communicator_.all_reduce(std::span(row), comm::Op::kSum);
      buffers_->set_mean(row);
    }
    buffers_->agree_counters(communicator_);
  }
  return losses;
}

// Every slot starts from the same buffers and zero gradients; gradients and buffers of slots meet
// along the tree.
DdpEngine::SlotLosses DdpEngine::run_exact(const StepInput& input) {
  SlotLosses losses;
  SlotTree gradients, statistics;
  const auto start = buffers_->snapshot();
  auto counted = start;
  std::int64_t begin = 0, slot = input.first_slot;
  const Reducer::NoSync no_sync(*reducer_);
  for (const auto size : input.slot_sizes) {
    double loss_sum = 0, weight = 0;
    reducer_->zero_gradients();
    buffers_->restore(start);
    auto context = op_context(slot++);
    if (size > 0) {
      run_micro_batch(input.part.slice(begin, begin + size), context, loss_sum, weight);
      counted = buffers_->snapshot();
    }
    begin += size;
    losses.insert(losses.end(), {loss_sum, weight});
    gradients.push(reducer_->flat());
    statistics.push(buffers_->flat(size > 0));
  }
  ready_ms_ = since_step_.ms();
  recorder_.enter(Phase::kReduce);
  auto sum = gradients.take();
  add_ranks(sum, communicator_);
  reducer_->set_flat(sum);
  auto row = statistics.take();
  add_ranks(row, communicator_);
  buffers_->restore(counted);  // the counters; the mean replaces the rest
  buffers_->set_mean(row);
  buffers_->agree_counters(communicator_);
  return losses;
}

// One exchange carries losses, weights, missing gradients and times; sums run in slot order, so
// every rank gets the same bits.
std::vector<char> DdpEngine::exchange_reports(const SlotLosses& losses,
                                              const std::vector<int>& missing,
                                              bool had_samples,
                                              StepResult& result) {
  auto mine = losses;
  mine.push_back(had_samples ? static_cast<double>(missing.size()) : 0);
  mine.push_back(ready_ms_);
  std::vector<double> all(mine.size() * static_cast<std::size_t>(communicator_.ranks()));
  communicator_.all_gather(std::span<const double>(mine), std::span(all));
  double loss_sum = 0, missing_anywhere = 0;
  for (auto row = all.begin(); row != all.end(); row += static_cast<std::ptrdiff_t>(mine.size())) {
    for (std::size_t slot = 0; slot < losses.size(); slot += 2) {
      loss_sum += row[static_cast<std::ptrdiff_t>(slot)];
      result.weight += row[static_cast<std::ptrdiff_t>(slot) + 1];
    }
    missing_anywhere += row[static_cast<std::ptrdiff_t>(losses.size())];
    result.ready_ms.push_back(row[static_cast<std::ptrdiff_t>(losses.size()) + 1]);
  }
  result.loss = loss_sum / result.weight;
  return missing_anywhere > 0 ? settle_missing(missing, had_samples)
                              : std::vector<char>(reducer_->parameters().size(), 0);
}

// A parameter is skipped where no rank had a gradient for it: neither momentum nor weight decay may
// move it.
std::vector<char> DdpEngine::settle_missing(const std::vector<int>& missing, bool had_samples) {
  const auto& parameters = reducer_->parameters();
  if (config_.options.unused == "error") {
    std::string mine;
    for (const int index : missing)
      mine += cat(mine.empty() ? "" : ", ", parameters[static_cast<std::size_t>(index)].name);
    const auto all = communicator_.all_gather(had_samples ? mine : std::string());
    std::string text;
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (!all[r].empty()) text += cat(text.empty() ? "" : "; ", "rank ", r, ": ", all[r]);
    }
    throw comm::AgreedError(
        ExitCode::kConfig,
        cat("step ",
            recorder_.step(),
            ": these parameters got no gradient: ",
            text,
            ". They took no part in the loss: freeze them (--freeze) or pass --unused zero"));
  }
  std::vector<std::int32_t> used(parameters.size(), had_samples ? 1 : 0);
  for (const int index : missing) used[static_cast<std::size_t>(index)] = 0;
  communicator_.all_reduce(std::span(used), comm::Op::kMax);
  std::vector<char> skip;
  for (const auto u : used) skip.push_back(u == 0);
  return skip;
}

void DdpEngine::check_finite(const StepResult& result) const {
  if (std::isfinite(result.loss) && std::isfinite(result.gradient_norm)) return;
  throw comm::AgreedError(
      ExitCode::kNotFinite,
      cat("step ",
          recorder_.step(),
          ": the ",
          std::isfinite(result.loss) ? "gradient norm" : "loss",
          " is not finite (loss ",
          result.loss,
          ", gradient norm ",
          result.gradient_norm,
          "); nothing was updated. Try a smaller --lr or --clip-norm, and check the data"));
}

std::int64_t DdpEngine::parameter_elements() const {
  std::int64_t elements = 0;
  for (const auto& p : reducer_->parameters()) elements += p.tensor.numel();
  return elements;
}

std::vector<NamedTensor> DdpEngine::state() const {
  auto out = model::named_state(network_);
  for (auto& moment : update_->state()) out.push_back(std::move(moment));
  return out;
}

}  // namespace lockstep::parallel
