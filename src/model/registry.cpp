// SPDX-License-Identifier: MIT
#include <torch/torch.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "model/builtins/builtins.hpp"
#include "model/network.hpp"
#include "model/parameters.hpp"

namespace lockstep::model {

Registry::Registry() {
  add("mlp", kMlpSummary, make_mlp);
  add("cnn", kCnnSummary, make_cnn);
  add("resnet50", kResnet50Summary, make_resnet50);
  add("gpt", kGptSummary, make_gpt);
}

void Registry::add(const std::string& name, std::string summary, Factory make) {
  if (name.empty() || !make)
    throw ConfigError(cat("model '", name, "': a model needs a name and a factory"));
  if (!entries_.emplace(name, Entry{std::move(make), std::move(summary)}).second) {
    throw ConfigError(cat("model '", name, "' is registered twice; give one of them another name"));
  }
}

std::vector<std::pair<std::string, std::string>> Registry::list() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, entry] : entries_) out.emplace_back(name, entry.summary);
  return out;
}

std::shared_ptr<Network> Registry::make(const std::string& name,
                                        Spec spec,
                                        std::uint64_t seed) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    std::vector<std::string> known;
    for (const auto& item : entries_) known.push_back(item.first);
    const std::vector<std::string> near = nearest(name, known);
    throw ConfigError(cat("--model: '",
                          name,
                          "' is not known",
                          near.empty() ? "" : cat("; did you mean ", join(near, ", "), "?"),
                          near.empty() ? ". " : " ",
                          "Known models: ",
                          join(known, ", ")));
  }
  torch::manual_seed(seed);
  std::shared_ptr<Network> network = found->second.make(spec);
  if (network == nullptr) throw ConfigError(cat("the factory of model ", name, " made nothing"));
  spec.check_all_used(name);
  check_contract(*network, name);
  return network;
}

}  // namespace lockstep::model
