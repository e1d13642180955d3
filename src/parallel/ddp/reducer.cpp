// SPDX-License-Identifier: MIT
#include "parallel/ddp/reducer.hpp"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "core/check.hpp"

namespace lockstep::parallel {

struct Reducer::Hook final : torch::autograd::PostAccumulateGradHook {
  Hook(Reducer& reducer, std::size_t index) : reducer_(reducer), index_(index) {}
  void operator()(const torch::Tensor& parameter) override {
    reducer_.on_gradient(index_, parameter);
  }

 private:
  Reducer& reducer_;
  std::size_t index_;
};

namespace {

void check_parameter(const NamedTensor& parameter) {
  const auto& tensor = parameter.tensor;
  if (tensor.scalar_type() != torch::kFloat32 || !tensor.device().is_cpu()) {
    throw ConfigError(
        cat("parameter ",
            parameter.name,
            " is ",
            dtype_text(tensor.scalar_type()),
            " on ",
            tensor.device().str(),
            "; fp32 parameters on the cpu can be trained. Freeze it or change the model"));
  }
  if (!tensor.is_leaf() || !tensor.is_non_overlapping_and_dense()) {
    throw ConfigError(
        cat("parameter ",
            parameter.name,
            " of shape ",
            shape_text(tensor.sizes()),
            " is a view with gaps or no leaf; register a tensor with memory of its own"));
  }
  if (torch::autograd::impl::post_acc_grad_hooks(tensor) != nullptr) {
    throw InternalError(cat("parameter ",
                            parameter.name,
                            " already has a gradient hook: another engine uses this model"));
  }
}

}  // namespace

Reducer::Reducer(std::vector<NamedTensor> parameters,
                 BucketPlan plan,
                 std::unique_ptr<BucketChannel> channel)
    : parameters_(std::move(parameters)),
      plan_(std::move(plan)),
      channel_(std::move(channel)),
      counter_(plan_),
      seen_(parameters_.size(), 0),
      ready_(parameters_.size(), 0) {
  for (const auto& parameter : parameters_) check_parameter(parameter);
  lay_out();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameters_[i].tensor,
                                                   std::make_unique<Hook>(*this, i));
  }
}

void Reducer::lay_out() {
  buckets_.clear();
  for (const auto elements : plan_.elements) buckets_.push_back(torch::zeros({elements}));
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    parameters_[i].tensor.mutable_grad() = view(i);
}

Reducer::~Reducer() {
  for (auto& parameter : parameters_) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter.tensor, nullptr);
    parameter.tensor.mutable_grad() = torch::Tensor();
  }
}

// Detached, else zero_grad(false) on it would throw. The strides are the parameter's: kernels that
// walk raw memory rely on it.
torch::Tensor Reducer::view(std::size_t index) const {
  const auto& place = plan_.places[index];
  const auto& parameter = parameters_[index].tensor;
  return buckets_[static_cast<std::size_t>(place.bucket)]
      .as_strided(parameter.sizes(), parameter.strides(), place.offset)
      .detach();
}

std::vector<int> Reducer::seen_order() const {
  auto order = fired_;
  for (const int index : plan_.order) {
    if (!ready_[static_cast<std::size_t>(index)]) order.push_back(index);
  }
  return order;
}

void Reducer::replan(std::vector<int> order) {
  std::vector<ParameterSize> sizes;
  for (const auto& p : parameters_) sizes.push_back({p.name, p.tensor.numel()});
  plan_ = plan_buckets(sizes, std::move(order), plan_.cap_elements);
  counter_ = BucketCounter(plan_);
  lay_out();
}

void Reducer::begin_step(bool measure) {
  zero_gradients();
  counter_.reset();
  channel_->begin_step();
  std::fill(seen_.begin(), seen_.end(), 0);
  std::fill(ready_.begin(), ready_.end(), 0);
  fired_.clear();
  measure_ = measure;
  local_norms_.assign(parameters_.size(), 0);
}

void Reducer::zero_gradients() {
  for (auto& bucket : buckets_) bucket.zero_();
}

void Reducer::on_gradient(std::size_t index, const torch::Tensor& parameter) {
  adopt_gradient(index, parameter);
  if (no_sync_ > 0) return;
  if (ready_[index]) {
    throw InternalError(cat("parameter ",
                            parameters_[index].name,
                            " got its gradient twice in one backward: it is used outside forward, "
                            "or its block is recomputed in a "
                            "nested backward, or backward ran twice without a NoSync guard"));
  }
  ready_[index] = 1;
  fired_.push_back(static_cast<int>(index));
  if (measure_) local_norms_[index] = parameter.grad().norm().item<double>();
  send(counter_.complete(plan_.places[index].bucket));
}

// Autograd normally adds into the view. It leaves .grad undefined when nothing arrived, and
// replaces it when somebody cleared it or asked for a graph of the gradients.
void Reducer::adopt_gradient(std::size_t index, const torch::Tensor& parameter) {
  auto& gradient = parameter.mutable_grad();
  if (!gradient.defined()) {
    gradient = view(index);
    return;
  }
  seen_[index] = 1;
  const auto& place = plan_.places[index];
  const float* home =
      buckets_[static_cast<std::size_t>(place.bucket)].data_ptr<float>() + place.offset;
  if (gradient.data_ptr() == home && gradient.strides() == parameter.strides()) return;
  auto slot = view(index);
  slot.copy_(gradient.detach());
  gradient = slot;
  ++copies_;
}

void Reducer::send(Range buckets) {
  for (auto b = buckets.begin; b < buckets.end; ++b) channel_->push(bucket(static_cast<int>(b)));
}

void Reducer::finish() {
  send(counter_.rest());
  channel_->wait();
}

std::vector<int> Reducer::missing() const {
  std::vector<int> missing;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (!seen_[i]) missing.push_back(static_cast<int>(i));
  }
  return missing;
}

std::vector<float> Reducer::flat() const {
  std::vector<float> row;
  for (const auto& bucket : buckets_) {
    const auto values = span_of<float>(bucket);
    row.insert(row.end(), values.begin(), values.end());
  }
  return row;
}

void Reducer::set_flat(std::span<const float> row) {
  for (auto& bucket : buckets_) {
    const auto values = span_of<float>(bucket);
    std::copy_n(row.begin(), values.size(), values.begin());
    row = row.subspan(values.size());
  }
}

std::int64_t Reducer::bytes_per_step() const {
  std::int64_t bytes = 0;
  for (const auto elements : plan_.elements)
    bytes += elements * static_cast<std::int64_t>(sizeof(float));
  return bytes;
}

}  // namespace lockstep::parallel
