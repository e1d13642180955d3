// SPDX-License-Identifier: MIT
// What a model is to Lockstep: a torch::nn::Module with one forward, made by a factory, once per
// replica, never cloned.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/option_table.hpp"

namespace lockstep::model {

/// A piece of the model that maps one tensor to one tensor; blocks run in order make the forward.
struct Block {
  std::string name;
  std::function<torch::Tensor(const torch::Tensor&)> forward;
  std::vector<std::shared_ptr<torch::nn::Module>> modules;  ///< whose parameters the block uses
};

/// Base class of models. Parameters may be relocated after the factory returned: a model keeps no
/// raw pointers to them.
class Network : public torch::nn::Module {
 public:
  /// inputs [N, ...] -> outputs [N, K] (classification) or [N, ...]. N may be 0.
  virtual torch::Tensor forward(const torch::Tensor& inputs) = 0;
  /// Optional: the forward cut into pieces (pipeline, activation checkpointing). Empty: the model
  /// cannot be cut.
  virtual std::vector<Block> blocks() { return {}; }
};

/// What a factory may look at: the data and the --model-option values.
class Spec {
 public:
  std::vector<std::int64_t> sample_shape;  ///< [C, H, W] or [F]
  std::int64_t num_classes = 0;
  std::map<std::string, std::string> options;

  /// An option's value, or the fallback. Reading marks the name as known. Throws ConfigError on a
  /// wrong value.
  std::int64_t integer(const std::string& name,
                       std::int64_t fallback,
                       std::int64_t min,
                       std::int64_t max);
  double real(const std::string& name, double fallback, double min, double max);
  /// "256,256"; an empty value is an empty list.
  std::vector<std::int64_t> integers(const std::string& name,
                                     std::vector<std::int64_t> fallback,
                                     std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                                     std::int64_t max = std::numeric_limits<std::int64_t>::max());
  /// num_classes. Throws ConfigError where the data has none.
  std::int64_t classes() const;
  /// Throws ConfigError naming the options that no factory asked for, with the nearest known ones.
  void check_all_used(const std::string& model) const;

 private:
  const std::string* find(const std::string& name);

  std::set<std::string> asked_;
};

using Factory = std::function<std::shared_ptr<Network>(Spec&)>;

/// Name -> factory. Built-ins are there from the start; a program that embeds Lockstep adds its
/// own.
class Registry {
 public:
  struct Entry {
    Factory make;
    std::string summary;  ///< a line for --list-models, with the options
  };
  Registry();
  void add(const std::string& name, std::string summary, Factory make);
  std::vector<std::pair<std::string, std::string>> list() const;
  /// Makes the model with torch's generator seeded by `seed`, checks the contract (no lazy or
  /// shared-storage parameters unless tied, at least one parameter) and that every option was used.
  /// Throws ConfigError with the nearest names.
  std::shared_ptr<Network> make(const std::string& name, Spec spec, std::uint64_t seed) const;

 private:
  std::map<std::string, Entry> entries_;
};

struct Options {
  std::string model;                       ///< empty: default_model() of the data
  std::vector<std::string> model_options;  ///< k=v
  std::vector<std::string> freeze;         ///< regular expressions on whole parameter names
  std::string task = "auto";
  double label_smoothing = 0;
};
void describe(config::OptionTable& table, Options& options);

/// k=v texts as a map. Throws ConfigError.
std::map<std::string, std::string> parse_options(const std::vector<std::string>& texts);

/// The built-in model that fits the samples: cnn for [C, H, W] with H and W of 8 or more, else mlp.
std::string default_model(const std::vector<std::int64_t>& sample_shape);

}  // namespace lockstep::model
