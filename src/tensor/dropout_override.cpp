// SPDX-License-Identifier: MIT
// aten::dropout with masks that are a pure function of (seed, step, slot, call of the step, place
// of the element): no state, no rank, no thread count. The place counts in row-major order of the
// shape, whatever the strides.
#include <ATen/OpMathType.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/random.hpp"
#include "tensor/detail/overrides.hpp"
#include "tensor/op_context.hpp"

// One copy per instruction set, chosen when the program is loaded; integers, so the same bits. Not
// under the address sanitizer, which is not ready yet at that time.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define LOCKSTEP_PER_CPU [[gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define LOCKSTEP_PER_CPU
#endif

namespace lockstep {
namespace {

using torch::Tensor;

constexpr int kBlocks = 32;            // Philox blocks side by side; 16 are not vectorised
constexpr int kGroup = 4 * kBlocks;    // elements that they serve
constexpr std::int64_t kGrain = 1024;  // groups that are worth a thread

/// The key of one call's mask.
struct MaskKey {
  std::uint32_t key0, key1, salt, call;
};

MaskKey next_key(OpContext& context) {
  const auto of_slot = philox(
      {static_cast<std::uint32_t>(context.step),
       static_cast<std::uint32_t>(context.step >> 32),
       static_cast<std::uint32_t>(context.slot),
       static_cast<std::uint32_t>(Purpose::kDropout)},
      {static_cast<std::uint32_t>(context.seed), static_cast<std::uint32_t>(context.seed >> 32)});
  return {of_slot[0], of_slot[1], of_slot[2], context.dropout_calls++};
}

// Groups [begin, end): element 128 g + 32 w + b is word w of philox({32 g + b, call, salt}, key),
// kept where below the threshold. The rounds are those of core/random.cpp, kBlocks at a time.
LOCKSTEP_PER_CPU void draw(MaskKey key,
                           std::uint32_t threshold,
                           std::int64_t begin,
                           std::int64_t end,
                           std::uint8_t* keep) {
  for (std::int64_t group = begin; group < end; ++group) {
    std::uint32_t a[kBlocks], b[kBlocks], c[kBlocks], d[kBlocks];
    for (int i = 0; i < kBlocks; ++i) {
      const auto block = static_cast<std::uint64_t>(group) * kBlocks;
      a[i] = static_cast<std::uint32_t>(block) + static_cast<std::uint32_t>(i);
      b[i] = static_cast<std::uint32_t>(block >> 32);
      c[i] = key.call;
      d[i] = key.salt;
    }
    std::uint32_t key0 = key.key0, key1 = key.key1;
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < kBlocks; ++i) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53} * a[i];
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[i];
        a[i] = static_cast<std::uint32_t>(p1 >> 32) ^ b[i] ^ key0;
        b[i] = static_cast<std::uint32_t>(p1);
        c[i] = static_cast<std::uint32_t>(p0 >> 32) ^ d[i] ^ key1;
        d[i] = static_cast<std::uint32_t>(p0);
      }
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    std::uint8_t* out = keep + (group - begin) * kGroup;
    for (int i = 0; i < kBlocks; ++i) out[i] = a[i] < threshold;
    for (int i = 0; i < kBlocks; ++i) out[kBlocks + i] = b[i] < threshold;
    for (int i = 0; i < kBlocks; ++i) out[2 * kBlocks + i] = c[i] < threshold;
    for (int i = 0; i < kBlocks; ++i) out[3 * kBlocks + i] = d[i] < threshold;
  }
}

/// The next call's mask, contiguous booleans: true (keep) with probability 1 - p.
Tensor next_mask(OpContext& context, torch::IntArrayRef shape, double p) {
  const MaskKey key = next_key(context);
  const auto threshold =
      static_cast<std::uint32_t>(std::min(std::round((1 - p) * 0x1p32), 0x1p32 - 1));
  const Tensor mask = at::empty(shape, torch::kBool);
  auto* keep = static_cast<std::uint8_t*>(mask.data_ptr());
  const std::int64_t elements = mask.numel(), whole = elements / kGroup;
  at::parallel_for(0, whole, kGrain, [&](std::int64_t begin, std::int64_t end) {
    draw(key, threshold, begin, end, keep + begin * kGroup);
  });
  if (whole * kGroup < elements) {
    std::array<std::uint8_t, kGroup> tail{};
    draw(key, threshold, whole, whole + 1, tail.data());
    std::copy_n(tail.data(), elements - whole * kGroup, keep + whole * kGroup);
  }
  return mask;
}

template <class T>
void scale_kept(const T* __restrict in,
                const std::uint8_t* __restrict keep,
                double scale,
                T* __restrict out,
                std::int64_t n) {
  using Math = at::opmath_type<T>;
  const Math factors[2] = {0, static_cast<Math>(scale)};
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = static_cast<T>(static_cast<Math>(in[i]) * (keep[i] != 0 ? factors[1] : factors[0]));
}

/// input * mask * scale, keeping one byte an element for the backward. What is not finite stays so
/// (0 * NaN), as in LibTorch.
struct ScaleKept : torch::autograd::Function<ScaleKept> {
  static Tensor forward(torch::autograd::AutogradContext* context,
                        const Tensor& input,
                        const Tensor& mask,
                        double scale) {
    context->save_for_backward({mask});
    context->saved_data["scale"] = scale;
    const auto format = input.suggest_memory_format();
    const Tensor in = input.contiguous(format), keep = mask.contiguous(format);
    const Tensor out = at::empty_like(in);
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf,
                                    at::kBFloat16,
                                    in.scalar_type(),
                                    "keyed dropout",
                                    [&] {
                                      scale_kept(
                                          in.const_data_ptr<scalar_t>(),
                                          static_cast<const std::uint8_t*>(keep.const_data_ptr()),
                                          scale,
                                          out.mutable_data_ptr<scalar_t>(),
                                          in.numel());
                                    });
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto mask = context->get_saved_variables()[0];
    return {ScaleKept::apply(gradients[0], mask, context->saved_data["scale"].toDouble()),
            Tensor(),
            Tensor()};
  }
};

// The context where a mask has to be drawn; nullptr: LibTorch's own operator does it all, also the
// complaint about a wrong p.
OpContext* keyed(const Tensor& input, double p, bool train) {
  const bool draws = train && p > 0 && p < 1 && input.numel() > 0 && input.is_floating_point();
  return draws ? current_op_context() : nullptr;
}

// One decision per channel of one sample: [N, C, 1, ...].
std::vector<std::int64_t> feature_shape(const Tensor& input) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
  shape[0] = input.size(0);
  shape[1] = input.size(1);
  return shape;
}

/// y = input * factor + offset.
struct Affine {
  Tensor factor;
  Tensor offset;  ///< may be undefined: 0
};

Affine dropped(OpContext& context, const Tensor& input, torch::IntArrayRef shape, double p) {
  return {next_mask(context, shape, p).to(input.scalar_type()).div_(1 - p), Tensor()};
}

// Keeps mean and variance of a SELU's output (G. Klambauer et al., "Self-normalizing neural
// networks", 2017): dropped elements become its negative limit, an affine map follows.
Affine dropped_alpha(OpContext& context, const Tensor& input, torch::IntArrayRef shape, double p) {
  constexpr double kAlpha = 1.7580993408473766;  // scale * alpha of SELU
  const double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  const Tensor keep = next_mask(context, shape, p).to(input.scalar_type());
  return {keep * a, (keep - 1).mul_(kAlpha * a).add_(kAlpha * a * p)};
}

Tensor apply(const Tensor& input, const Affine& map) {
  const Tensor out = input * map.factor;
  return map.offset.defined() ? out + map.offset : out;
}

Tensor& apply_(Tensor& self, const Affine& map) {
  self.mul_(map.factor);
  return map.offset.defined() ? self.add_(map.offset) : self;
}

constexpr auto kBelow = c10::after_autograd_keyset;

Tensor dropout(c10::DispatchKeySet keys, const Tensor& input, double p, bool train) {
  if (auto* context = keyed(input, p, train))
    return ScaleKept::apply(input, next_mask(*context, input.sizes(), p), 1 / (1 - p));
  return at::_ops::dropout::redispatch(keys & kBelow, input, p, train);
}

Tensor& dropout_(c10::DispatchKeySet keys, Tensor& self, double p, bool train) {
  if (auto* context = keyed(self, p, train))
    return apply_(self, dropped(*context, self, self.sizes(), p));
  return at::_ops::dropout_::redispatch(keys & kBelow, self, p, train);
}

Tensor feature_dropout(c10::DispatchKeySet keys, const Tensor& input, double p, bool train) {
  if (auto* context = input.dim() >= 2 ? keyed(input, p, train) : nullptr)
    return apply(input, dropped(*context, input, feature_shape(input), p));
  return at::_ops::feature_dropout::redispatch(keys & kBelow, input, p, train);
}

Tensor& feature_dropout_(c10::DispatchKeySet keys, Tensor& self, double p, bool train) {
  if (auto* context = self.dim() >= 2 ? keyed(self, p, train) : nullptr)
    return apply_(self, dropped(*context, self, feature_shape(self), p));
  return at::_ops::feature_dropout_::redispatch(keys & kBelow, self, p, train);
}

Tensor alpha_dropout(c10::DispatchKeySet keys, const Tensor& input, double p, bool train) {
  if (auto* context = keyed(input, p, train))
    return apply(input, dropped_alpha(*context, input, input.sizes(), p));
  return at::_ops::alpha_dropout::redispatch(keys & kBelow, input, p, train);
}

Tensor& alpha_dropout_(c10::DispatchKeySet keys, Tensor& self, double p, bool train) {
  if (auto* context = keyed(self, p, train))
    return apply_(self, dropped_alpha(*context, self, self.sizes(), p));
  return at::_ops::alpha_dropout_::redispatch(keys & kBelow, self, p, train);
}

Tensor feature_alpha_dropout(c10::DispatchKeySet keys, const Tensor& input, double p, bool train) {
  if (auto* context = input.dim() >= 2 ? keyed(input, p, train) : nullptr)
    return apply(input, dropped_alpha(*context, input, feature_shape(input), p));
  return at::_ops::feature_alpha_dropout::redispatch(keys & kBelow, input, p, train);
}

Tensor& feature_alpha_dropout_(c10::DispatchKeySet keys, Tensor& self, double p, bool train) {
  if (auto* context = self.dim() >= 2 ? keyed(self, p, train) : nullptr)
    return apply_(self, dropped_alpha(*context, self, feature_shape(self), p));
  return at::_ops::feature_alpha_dropout_::redispatch(keys & kBelow, self, p, train);
}

}  // namespace

void detail::install_dropout_override() {
  static const bool installed = [] {
    static torch::Library library(torch::Library::IMPL,
                                  "aten",
                                  c10::DispatchKey::AutogradCPU,
                                  __FILE__,
                                  __LINE__);
    library.impl("dropout", TORCH_FN(dropout));
    library.impl("dropout_", TORCH_FN(dropout_));
    library.impl("feature_dropout", TORCH_FN(feature_dropout));
    library.impl("feature_dropout_", TORCH_FN(feature_dropout_));
    library.impl("alpha_dropout", TORCH_FN(alpha_dropout));
    library.impl("alpha_dropout_", TORCH_FN(alpha_dropout_));
    library.impl("feature_alpha_dropout", TORCH_FN(feature_alpha_dropout));
    library.impl("feature_alpha_dropout_", TORCH_FN(feature_alpha_dropout_));
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace lockstep
