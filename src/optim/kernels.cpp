// SPDX-License-Identifier: MIT
// The update rules. Each is one expression per element over contiguous memory, so that the compiler
// vectorises the loop and an element's bits do not depend on where a slice begins or ends. Factors
// are computed in double and rounded once to fp32, the order of operations is PyTorch's.
#include <cmath>

#include "core/check.hpp"
#include "optim/optimizer.hpp"

// One copy of a loop per instruction set, chosen when the program is loaded; the results are the
// same bits. Not under the address sanitizer, which is not ready yet at that time.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define LOCKSTEP_PER_CPU [[gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define LOCKSTEP_PER_CPU
#endif

namespace lockstep::optim {
namespace {

struct SgdFactors {
  float scale, decay, momentum, lr;
};

struct AdamFactors {
  float scale, l2, keep, one_minus_beta1, beta2, one_minus_beta2, root_correction2_inverse, eps,
      step_size;
};

LOCKSTEP_PER_CPU void sgd_plain(float* __restrict p,
                                const float* __restrict g,
                                std::int64_t n,
                                SgdFactors f) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = g[i] * f.scale + f.decay * p[i];
    p[i] = p[i] - f.lr * gradient;
  }
}

// The first step starts the buffer, whatever lies in its memory.
LOCKSTEP_PER_CPU void sgd_first(float* __restrict p,
                                const float* __restrict g,
                                float* __restrict buffer,
                                std::int64_t n,
                                SgdFactors f) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = g[i] * f.scale + f.decay * p[i];
    buffer[i] = gradient;
    p[i] = p[i] - f.lr * gradient;
  }
}

LOCKSTEP_PER_CPU void sgd_momentum(float* __restrict p,
                                   const float* __restrict g,
                                   float* __restrict buffer,
                                   std::int64_t n,
                                   SgdFactors f) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = g[i] * f.scale + f.decay * p[i];
    const float moved = f.momentum * buffer[i] + gradient;
    buffer[i] = moved;
    p[i] = p[i] - f.lr * moved;
  }
}

LOCKSTEP_PER_CPU void sgd_nesterov(float* __restrict p,
                                   const float* __restrict g,
                                   float* __restrict buffer,
                                   std::int64_t n,
                                   SgdFactors f,
                                   float kept) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = g[i] * f.scale + f.decay * p[i];
    const float moved = kept == 0.0F ? gradient : kept * buffer[i] + gradient;
    buffer[i] = moved;
    p[i] = p[i] - f.lr * (gradient + f.momentum * moved);
  }
}

// Adam and AdamW differ in two factors: l2 is 0 with decoupled decay, keep is 1 without it.
LOCKSTEP_PER_CPU void adam(float* __restrict p,
                           const float* __restrict g,
                           float* __restrict mean,
                           float* __restrict square,
                           std::int64_t n,
                           AdamFactors f) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = g[i] * f.scale + f.l2 * p[i];
    const float m = mean[i] + f.one_minus_beta1 * (gradient - mean[i]);
    const float v = f.beta2 * square[i] + f.one_minus_beta2 * (gradient * gradient);
    mean[i] = m;
    square[i] = v;
    p[i] = p[i] * f.keep - f.step_size * m / (std::sqrt(v) * f.root_correction2_inverse + f.eps);
  }
}

void update_sgd(const Slice& s, const Hyper& hyper, bool first, double scale) {
  const SgdFactors f{static_cast<float>(scale),
                     static_cast<float>(hyper.weight_decay),
                     static_cast<float>(hyper.momentum),
                     static_cast<float>(hyper.lr)};
  if (hyper.momentum == 0) {
    sgd_plain(s.parameter, s.gradient, s.n, f);
    return;
  }
  LOCKSTEP_ASSERT(s.moment1 != nullptr, "momentum ", hyper.momentum);
  if (hyper.nesterov) {
    sgd_nesterov(s.parameter, s.gradient, s.moment1, s.n, f, first ? 0.0F : f.momentum);
  } else if (first) {
    sgd_first(s.parameter, s.gradient, s.moment1, s.n, f);
  } else {
    sgd_momentum(s.parameter, s.gradient, s.moment1, s.n, f);
  }
}

void update_adam(const Slice& s, const Hyper& hyper, std::int64_t step, double scale) {
  LOCKSTEP_ASSERT(s.moment1 != nullptr && s.moment2 != nullptr, "step ", step);
  const bool decoupled = hyper.rule == Rule::kAdamW;
  const double t = static_cast<double>(step);
  const double correction1 = 1 - std::pow(hyper.beta1, t);
  const double correction2 = 1 - std::pow(hyper.beta2, t);
  AdamFactors f{};
  f.scale = static_cast<float>(scale);
  f.l2 = decoupled ? 0.0F : static_cast<float>(hyper.weight_decay);
  f.keep = decoupled ? static_cast<float>(1 - hyper.lr * hyper.weight_decay) : 1.0F;
  f.one_minus_beta1 = static_cast<float>(1 - hyper.beta1);
  f.beta2 = static_cast<float>(hyper.beta2);
  f.one_minus_beta2 = static_cast<float>(1 - hyper.beta2);
  f.root_correction2_inverse = static_cast<float>(1 / std::sqrt(correction2));
  f.eps = static_cast<float>(hyper.eps);
  f.step_size = static_cast<float>(hyper.lr / correction1);
  adam(s.parameter, s.gradient, s.moment1, s.moment2, s.n, f);
}

}  // namespace

std::vector<std::string> moment_names(const Hyper& hyper) {
  if (hyper.rule != Rule::kSgd) return {"exp_avg", "exp_avg_sq"};
  if (hyper.momentum != 0) return {"momentum_buffer"};
  return {};
}

void update(const Slice& slice, const Hyper& hyper, std::int64_t step, double gradient_scale) {
  LOCKSTEP_ASSERT(step >= 1 && slice.n >= 0, "step ", step, " n ", slice.n);
  if (slice.n == 0) return;
  LOCKSTEP_ASSERT(slice.parameter != nullptr && slice.gradient != nullptr, "n ", slice.n);
  if (hyper.rule == Rule::kSgd) {
    update_sgd(slice, hyper, step == 1, gradient_scale);
  } else {
    update_adam(slice, hyper, step, gradient_scale);
  }
}

}  // namespace lockstep::optim
