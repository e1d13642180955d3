// SPDX-License-Identifier: MIT
#include "model/parameters.hpp"

#include <algorithm>
#include <regex>
#include <unordered_map>
#include <unordered_set>

#include "core/error.hpp"
#include "core/text.hpp"

namespace lockstep::model {
namespace {

constexpr std::size_t kNamesShown = 6;

std::regex compile(const std::string& pattern) {
  try {
    return std::regex(pattern);
  } catch (const std::regex_error& error) {
    throw ConfigError(cat("--freeze '", pattern, "' is not a regular expression: ", error.what()));
  }
}

std::string some_names(const Network& network) {
  std::vector<std::string> names;
  for (const auto& item : network.named_parameters()) {
    if (names.size() == kNamesShown) return cat(join(names, ", "), ", ...");
    names.push_back(item.key());
  }
  return join(names, ", ");
}

// What hinders a parameter's relocation, or nothing.
std::string fault_of(const torch::Tensor& p) {
  if (p.layout() != torch::kStrided) return "is not dense";
  if (p.is_meta() || p.numel() == 0)
    return "has no elements yet (lazy); give it its shape in the constructor";
  if (!p.is_leaf()) return "was computed from other tensors; register a leaf (detach() it)";
  if (!p.is_floating_point())
    return cat("is of type ", dtype_text(p.scalar_type()), "; register it as a buffer");
  if (!p.is_non_overlapping_and_dense())
    return "has gaps or overlaps in memory; register a contiguous() copy";
  return {};
}

}  // namespace

std::vector<NamedTensor> unique_parameters(const Network& network) {
  std::vector<NamedTensor> out;
  std::unordered_set<const void*> seen;
  for (const auto& item : network.named_parameters()) {
    if (seen.insert(item.value().unsafeGetTensorImpl()).second)
      out.push_back({item.key(), item.value()});
  }
  return out;
}

std::vector<NamedTensor> named_state(const Network& network) {
  auto out = unique_parameters(network);
  for (const auto& item : network.named_buffers()) out.push_back({item.key(), item.value()});
  for (auto& entry : out) entry.name = "model/" + entry.name;
  return out;
}

std::vector<NamedTensor> trainable_parameters(const Network& network) {
  std::vector<NamedTensor> out = unique_parameters(network);
  std::erase_if(out, [](const NamedTensor& p) { return !p.tensor.requires_grad(); });
  return out;
}

std::int64_t apply_freeze(Network& network, const std::vector<std::string>& patterns) {
  std::unordered_set<const void*> frozen;
  for (const std::string& pattern : patterns) {
    const std::regex expression = compile(pattern);
    bool matched = false;
    for (auto& item : network.named_parameters()) {
      if (!std::regex_match(item.key(), expression)) continue;
      matched = true;
      frozen.insert(item.value().unsafeGetTensorImpl());
      item.value().set_requires_grad(false);
    }
    if (!matched) {
      throw ConfigError(cat("--freeze '",
                            pattern,
                            "' matches no parameter; it must match a whole name, such as ",
                            some_names(network)));
    }
  }
  if (trainable_parameters(network).empty()) {
    throw ConfigError(cat("no trainable parameters, --freeze '",
                          join(patterns, "' '"),
                          "' matched ",
                          frozen.size(),
                          " of ",
                          unique_parameters(network).size(),
                          "; leave at least one to train"));
  }
  return static_cast<std::int64_t>(frozen.size());
}

void check_contract(const Network& network, const std::string& model) {
  struct Owner {
    std::string name;
    const void* tensor;
  };
  std::unordered_map<const void*, Owner> owners;  // by storage
  const auto claim = [&](const std::string& name, const torch::Tensor& tensor, bool parameter) {
    const void* identity = tensor.unsafeGetTensorImpl();
    const void* storage = tensor.storage().unsafeGetStorageImpl();
    const auto found = owners.find(storage);
    if (found != owners.end() && found->second.tensor != identity) {
      throw ConfigError(cat("model ",
                            model,
                            ": '",
                            found->second.name,
                            "' and '",
                            name,
                            "' are different tensors in one storage; register the same tensor "
                            "under both names to tie them, or clone() one"));
    }
    if (parameter) owners.emplace(storage, Owner{name, identity});
  };
  for (const auto& item : network.named_parameters()) {
    const std::string fault = fault_of(item.value());
    if (!fault.empty())
      throw ConfigError(cat("model ", model, ": parameter '", item.key(), "' ", fault));
    claim(item.key(), item.value(), true);
  }
  if (owners.empty())
    throw ConfigError(cat("model ", model, " has no parameters: there is nothing to train"));
  for (const auto& item : network.named_buffers()) {
    if (item.value().layout() == torch::kStrided) claim(item.key(), item.value(), false);
  }
}

}  // namespace lockstep::model
