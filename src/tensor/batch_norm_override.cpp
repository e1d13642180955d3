// SPDX-License-Identifier: MIT
// aten::batch_norm over the joined batch of several ranks. Forward: the ranks add count, sum and
// sum of squares per channel in double, so that unlike counts (zero too) weigh as they should, and
// each normalises its own samples. Backward: the ranks add the two sums that couple the samples;
// the gradients of weight and bias stay local, to be reduced with all others.
#include <torch/torch.h>

#include <tuple>

#include "comm/agree.hpp"
#include "core/check.hpp"
#include "tensor/bridge.hpp"
#include "tensor/detail/overrides.hpp"
#include "tensor/op_context.hpp"

namespace lockstep {
namespace {

using torch::Tensor;
using OptionalTensor = std::optional<Tensor>;

/// Of every channel over all ranks: mean and biased variance, [C] fp64.
struct Moments {
  Tensor mean;
  Tensor variance;
  double count = 0;  ///< values per channel
};

/// What SyncBatchNorm is told besides the tensors that it differentiates.
struct Call {
  comm::Communicator* ranks = nullptr;
  OptionalTensor running_mean;
  OptionalTensor running_variance;
  double momentum = 0;
  double eps = 0;
};

// LibTorch's kernels take parameters and statistics in fp32 beside half inputs.
torch::ScalarType statistics_type(const Tensor& input) {
  return input.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
}

double values_per_channel(const Tensor& input) {
  return input.numel() == 0 ? 0 : static_cast<double>(input.numel() / input.size(1));
}

// [C] shaped so that it broadcasts over input.
Tensor per_channel(const Tensor& values, const Tensor& input) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
  shape[1] = -1;
  return values.view(shape);
}

Moments global_moments(const Tensor& input, comm::Communicator& ranks) {
  const auto channels = input.size(1);
  const double mine = values_per_channel(input);
  const Tensor sums = at::zeros({2 * channels + 1}, torch::kFloat64);
  if (mine > 0) {
    const auto scratch = at::zeros({2, channels}, statistics_type(input));
    auto [mean, variance] = at::batch_norm_update_stats(input, scratch[0], scratch[1], 0);
    mean = mean.to(torch::kFloat64);
    sums.slice(0, 0, channels).copy_(mean * mine);
    sums.slice(0, channels, 2 * channels)
        .copy_((variance.to(torch::kFloat64) + mean.square()) * mine);
    sums.slice(0, 2 * channels).fill_(mine);
  }
  ranks.all_reduce(span_of<double>(sums), comm::Op::kSum);
  const double count = sums[-1].item<double>();
  if (count == 1) {
    throw comm::AgreedError(
        ExitCode::kConfig,
        cat("BatchNorm over all ranks needs more than one value per channel in training, found 1 "
            "(",
            channels,
            " channels): take a larger --batch-size or --batch-norm local"));
  }
  if (count == 0)
    return {at::zeros({channels}, torch::kFloat64), at::zeros({channels}, torch::kFloat64), 0};
  const Tensor mean = sums.slice(0, 0, channels) / count;
  const Tensor squares = sums.slice(0, channels, 2 * channels) / count;
  return {mean, (squares - mean.square()).clamp_min(0), count};
}

void update_running(const OptionalTensor& running, const Tensor& batch, double momentum) {
  if (!running.has_value() || !running->defined()) return;
  running->copy_(running->to(torch::kFloat64) * (1 - momentum) + batch * momentum);
}

OptionalTensor converted(const OptionalTensor& tensor, torch::ScalarType type) {
  return tensor.has_value() && tensor->defined() ? tensor->to(type) : tensor;
}

struct SyncBatchNorm : torch::autograd::Function<SyncBatchNorm> {
  using Context = torch::autograd::AutogradContext;
  using Variables = torch::autograd::variable_list;

  // input [N, C, ...], N may be 0; weight, bias and the running statistics [C].
  static Tensor forward(Context* context,
                        const Tensor& input,
                        const OptionalTensor& weight,
                        const OptionalTensor& bias,
                        const Call& call) {
    const Moments moments = global_moments(input, *call.ranks);
    if (moments.count > 0) {
      const double unbiased = moments.count / (moments.count - 1);
      update_running(call.running_mean, moments.mean, call.momentum);
      update_running(call.running_variance, moments.variance * unbiased, call.momentum);
    }
    const auto type = statistics_type(input);
    const Tensor mean = moments.mean.to(type), variance = moments.variance.to(type);
    context->save_for_backward({input, weight.value_or(Tensor()), mean, variance});
    context->saved_data["ranks"] = reinterpret_cast<std::int64_t>(call.ranks);
    context->saved_data["count"] = moments.count;
    context->saved_data["eps"] = call.eps;
    context->saved_data["has_bias"] = bias.has_value() && bias->defined();
    if (input.numel() == 0) return at::empty_like(input);
    return std::get<0>(at::native_batch_norm(input,
                                             converted(weight, type),
                                             converted(bias, type),
                                             mean,
                                             variance,
                                             /*training=*/false,
                                             0,
                                             call.eps));
  }

  static Variables backward(Context* context, Variables gradients) {
    if (torch::GradMode::is_enabled()) {
      throw ConfigError(
          "second derivatives through a BatchNorm over all ranks are not offered: differentiate "
          "once (no create_graph), or use --batch-norm local");
    }
    const auto saved = context->get_saved_variables();
    const Tensor &input = saved[0], &weight = saved[1];
    auto local = local_gradients(saved, gradients[0], context->saved_data["eps"].toDouble());
    Variables out(4);
    if (context->needs_input_grad(0)) {  // the same on all ranks: it is a matter of the model
      couple(local, saved, *context);
      out[0] = local.input.to(input.scalar_type());
    }
    if (weight.defined()) out[1] = local.weight.to(weight.scalar_type());
    if (context->saved_data["has_bias"].toBool()) out[2] = local.bias;
    return out;
  }

 private:
  /// As if mean and variance were constants, in the type of the statistics.
  struct Gradients {
    Tensor input;   ///< dy * w / sigma
    Tensor weight;  ///< [C] sum of dy * (x - mean) / sigma
    Tensor bias;    ///< [C] sum of dy
    Tensor factor;  ///< [C] w / sigma
    Tensor sigma;   ///< [C] sqrt(variance + eps)
  };

  static Gradients local_gradients(const Variables& saved, const Tensor& gradient, double eps) {
    const Tensor &input = saved[0], &mean = saved[2], &variance = saved[3];
    const auto type = statistics_type(input);
    const Tensor weight = saved[1].defined() ? saved[1].to(type) : at::ones_like(mean);
    const Tensor sigma = (variance.to(torch::kFloat64) + eps).sqrt();
    Gradients out{.factor = (weight / sigma).to(type), .sigma = sigma};
    if (input.numel() == 0) {
      out.input = at::zeros_like(input);
      out.weight = at::zeros_like(mean);
      out.bias = at::zeros_like(mean);
      return out;
    }
    const auto format = input.suggest_memory_format();
    std::tie(out.input, out.weight, out.bias) =
        at::native_batch_norm_backward(gradient.to(type).contiguous(format),
                                       input.to(type).contiguous(format),
                                       weight,
                                       mean,
                                       variance,
                                       {},
                                       {},
                                       /*train=*/false,
                                       eps,
                                       {true, true, true});
    return out;
  }

  // Adds what flows through mean and variance, which every rank's samples share.
  static void couple(Gradients& local, const Variables& saved, Context& context) {
    auto& ranks = *reinterpret_cast<comm::Communicator*>(context.saved_data["ranks"].toInt());
    const Tensor &input = saved[0], &mean = saved[2];
    const auto channels = mean.numel();
    const Tensor sums = at::cat({local.bias, local.weight}).to(torch::kFloat64);
    ranks.all_reduce(span_of<double>(sums), comm::Op::kSum);
    if (input.numel() == 0) return;
    const auto type = mean.scalar_type();
    const Tensor means = sums / context.saved_data["count"].toDouble();
    const Tensor shift = means.slice(0, 0, channels) * local.factor;
    const Tensor slope = means.slice(0, channels) * local.factor / local.sigma;
    local.input.addcmul_(input.to(type) - per_channel(mean, input),
                         per_channel(slope.to(type), input),
                         -1);
    local.input.sub_(per_channel(shift.to(type), input));
  }
};

bool keeps_statistics(const OpContext* context) {
  return context != nullptr &&
         (context->recomputing || context->statistics == RunningStatistics::kKeep);
}

Tensor batch_norm(c10::DispatchKeySet keys,
                  const Tensor& input,
                  const OptionalTensor& weight,
                  const OptionalTensor& bias,
                  const OptionalTensor& running_mean,
                  const OptionalTensor& running_variance,
                  bool training,
                  double momentum,
                  double eps,
                  bool cudnn_enabled) {
  const OpContext* context = training ? current_op_context() : nullptr;
  const bool keep = keeps_statistics(context);
  const OptionalTensor& mean_to_update = keep ? OptionalTensor() : running_mean;
  const OptionalTensor& variance_to_update = keep ? OptionalTensor() : running_variance;
  auto* ranks = context != nullptr ? context->batch_norm_ranks : nullptr;
  if (ranks != nullptr && ranks->ranks() > 1 && input.dim() >= 2) {
    return SyncBatchNorm::apply(input,
                                weight,
                                bias,
                                Call{ranks, mean_to_update, variance_to_update, momentum, eps});
  }
  return at::_ops::batch_norm::redispatch(keys & c10::after_autograd_keyset,
                                          input,
                                          weight,
                                          bias,
                                          mean_to_update,
                                          variance_to_update,
                                          training,
                                          momentum,
                                          eps,
                                          cudnn_enabled);
}

// LibTorch forms it from batch_norm on [1, N * C, ...]: no business of other ranks.
Tensor instance_norm(c10::DispatchKeySet keys,
                     const Tensor& input,
                     const OptionalTensor& weight,
                     const OptionalTensor& bias,
                     const OptionalTensor& running_mean,
                     const OptionalTensor& running_variance,
                     bool use_input_stats,
                     double momentum,
                     double eps,
                     bool cudnn_enabled) {
  const OpContext* context = current_op_context();
  const bool keep = use_input_stats && keeps_statistics(context);
  OpContext alone;
  const OpContextScope scope(alone);
  return at::_ops::instance_norm::redispatch(keys & c10::after_autograd_keyset,
                                             input,
                                             weight,
                                             bias,
                                             keep ? OptionalTensor() : running_mean,
                                             keep ? OptionalTensor() : running_variance,
                                             use_input_stats,
                                             momentum,
                                             eps,
                                             cudnn_enabled);
}

}  // namespace

void detail::install_batch_norm_override() {
  static const bool installed = [] {
    static torch::Library library(torch::Library::IMPL,
                                  "aten",
                                  c10::DispatchKey::AutogradCPU,
                                  __FILE__,
                                  __LINE__);
    library.impl("batch_norm", TORCH_FN(batch_norm));
    library.impl("instance_norm", TORCH_FN(instance_norm));
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace lockstep
