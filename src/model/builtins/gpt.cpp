// SPDX-License-Identifier: MIT
// gpt: the pre-norm decoder of GPT-2 under its parameter names (wte, wpe, h.0.ln_1,
// h.0.attn.c_attn, ...), the head tied to wte. Weights lie as Linear keeps them, [out, in]; GPT-2's
// own files hold the transpose (Conv1D). A. Radford et al., "Language models are unsupervised
// multitask learners", 2019.
#include <torch/torch.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "model/builtins/builtins.hpp"
#include "tensor/bridge.hpp"

namespace lockstep::model {
namespace {

using torch::nn::Embedding;
using torch::nn::LayerNorm;
using torch::nn::Linear;

constexpr double kInitStd = 0.02;

struct GptSizes {
  std::int64_t layers, heads, width, context, vocab;
  double dropout;
};

LayerNorm layer_norm(std::int64_t width) { return LayerNorm(torch::nn::LayerNormOptions({width})); }

class AttentionImpl : public torch::nn::Module {
 public:
  explicit AttentionImpl(const GptSizes& s) : heads_(s.heads), dropout_(s.dropout) {
    c_attn = register_module("c_attn", Linear(s.width, 3 * s.width));
    c_proj = register_module("c_proj", Linear(s.width, s.width));
  }

  /// [N, T, D] -> [N, T, D]
  torch::Tensor forward(const torch::Tensor& x) {
    const std::int64_t n = x.size(0), t = x.size(1), d = x.size(2);
    const auto parts =
        c_attn->forward(x).view({n, t, 3, heads_, d / heads_}).permute({2, 0, 3, 1, 4}).unbind(0);
    const torch::Tensor y = at::scaled_dot_product_attention(parts[0],
                                                             parts[1],
                                                             parts[2],
                                                             std::nullopt,
                                                             is_training() ? dropout_ : 0.0,
                                                             /*is_causal=*/true);
    return c_proj->forward(y.transpose(1, 2).reshape({n, t, d}));
  }

  Linear c_attn{nullptr}, c_proj{nullptr};

 private:
  std::int64_t heads_;
  double dropout_;
};
TORCH_MODULE(Attention);

class FeedForwardImpl : public torch::nn::Module {
 public:
  explicit FeedForwardImpl(std::int64_t width) {
    c_fc = register_module("c_fc", Linear(width, 4 * width));
    c_proj = register_module("c_proj", Linear(4 * width, width));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    return c_proj->forward(torch::gelu(c_fc->forward(x), "tanh"));
  }

  Linear c_fc{nullptr}, c_proj{nullptr};
};
TORCH_MODULE(FeedForward);

class LayerImpl : public torch::nn::Module {
 public:
  explicit LayerImpl(const GptSizes& s) : dropout_(s.dropout) {
    ln_1 = register_module("ln_1", layer_norm(s.width));
    attn = register_module("attn", Attention(s));
    ln_2 = register_module("ln_2", layer_norm(s.width));
    mlp = register_module("mlp", FeedForward(s.width));
  }

  torch::Tensor forward(const torch::Tensor& inputs) {
    const torch::Tensor x = inputs + drop(attn->forward(ln_1->forward(inputs)));
    return x + drop(mlp->forward(ln_2->forward(x)));
  }

  LayerNorm ln_1{nullptr}, ln_2{nullptr};
  Attention attn{nullptr};
  FeedForward mlp{nullptr};

 private:
  torch::Tensor drop(const torch::Tensor& x) {
    return dropout_ > 0 ? torch::dropout(x, dropout_, is_training()) : x;
  }

  double dropout_;
};
TORCH_MODULE(Layer);

class Gpt : public Network {
 public:
  explicit Gpt(const GptSizes& s) : sizes_(s) {
    wte = register_module("wte", Embedding(s.vocab, s.width));
    wpe = register_module("wpe", Embedding(s.context, s.width));
    h = register_module("h", torch::nn::ModuleList());
    for (std::int64_t i = 0; i < s.layers; ++i) h->push_back(Layer(s));
    ln_f = register_module("ln_f", layer_norm(s.width));
    const torch::NoGradGuard no_grad;
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* linear = module->as<Linear>()) linear->weight.normal_(0, kInitStd);
      if (auto* embedding = module->as<Embedding>()) embedding->weight.normal_(0, kInitStd);
    }
  }

  /// inputs [N, T] token ids -> [N, T, V]; T may be shorter than the context.
  torch::Tensor forward(const torch::Tensor& inputs) override {
    torch::Tensor x = embed(inputs);
    for (std::size_t i = 0; i < h->size(); ++i) x = h->at<LayerImpl>(i).forward(x);
    return head(x);
  }

  // The last block uses wte again: the stage that holds it holds the first one's embedding too.
  std::vector<Block> blocks() override {
    std::vector<Block> out;
    out.push_back(
        {"embed", [this](const torch::Tensor& x) { return embed(x); }, {wte.ptr(), wpe.ptr()}});
    for (std::size_t i = 0; i < h->size(); ++i) {
      auto layer = std::dynamic_pointer_cast<LayerImpl>(h->ptr(i));
      out.push_back(
          {cat("h.", i), [layer](const torch::Tensor& x) { return layer->forward(x); }, {layer}});
    }
    out.push_back(
        {"head", [this](const torch::Tensor& x) { return head(x); }, {ln_f.ptr(), wte.ptr()}});
    return out;
  }

  Embedding wte{nullptr}, wpe{nullptr};
  torch::nn::ModuleList h{nullptr};
  LayerNorm ln_f{nullptr};

 private:
  torch::Tensor embed(const torch::Tensor& ids) {
    TORCH_CHECK(ids.dim() == 2 && ids.size(1) <= sizes_.context,
                "gpt takes token ids [N, T] with T up to its context of ",
                sizes_.context,
                ", not ",
                ids.sizes());
    const torch::Tensor x = wte->forward(ids) + wpe->weight.narrow(0, 0, ids.size(1));
    return sizes_.dropout > 0 ? torch::dropout(x, sizes_.dropout, is_training()) : x;
  }

  torch::Tensor head(const torch::Tensor& x) {
    return torch::linear(ln_f->forward(x), wte->weight);
  }

  GptSizes sizes_;
};

}  // namespace

std::shared_ptr<Network> make_gpt(Spec& spec) {
  GptSizes sizes{};
  sizes.layers = spec.integer("layers", 4, 1, 1000);
  sizes.heads = spec.integer("heads", 4, 1, 1024);
  sizes.width = spec.integer("width", 256, 1, 1 << 16);
  sizes.context = spec.integer("context", 128, 1, 1 << 20);
  sizes.vocab = spec.integer("vocab", 8192, 1, 1 << 24);
  sizes.dropout = spec.real("dropout", 0, 0, 0.99);
  if (sizes.width % sizes.heads != 0) {
    throw ConfigError(
        cat("--model-option width=", sizes.width, " is not a multiple of heads=", sizes.heads));
  }
  const std::vector<std::int64_t>& shape = spec.sample_shape;
  if (shape.size() != 1 || shape[0] > sizes.context) {
    throw ConfigError(cat("model gpt with context=",
                          sizes.context,
                          " needs samples [T] of token ids with T up to that, but ",
                          "the data has ",
                          shape_text(shape),
                          "; change --model or --model-option context=N"));
  }
  return std::make_shared<Gpt>(sizes);
}

}  // namespace lockstep::model
