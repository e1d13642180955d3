// SPDX-License-Identifier: MIT
#include "session/identity.hpp"

#include <algorithm>
#include <array>

#include "core/digest.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "metrics/table.hpp"

namespace lockstep::session {
namespace {

constexpr std::string_view kPrefix = "meta/options/";
constexpr std::string_view kListSeparator = "; ";  // between the values of a list option

constexpr std::array kOptions = {
    "seed",      "shuffle",     "tail",     "model",    "model-option", "freeze",          "task",
    "optimizer", "lr",          "momentum", "nesterov", "weight-decay", "betas",           "eps",
    "clip-norm", "lr-schedule", "lr-step",  "lr-final", "warmup-steps", "label-smoothing", "unused",
    "reduce",    "slots"};

std::string text_of(const checkpoint::Scalar& scalar) {
  return std::visit([](const auto& value) { return cat(value); }, scalar);
}

// A list as numbered scalars: prefix0, prefix1, ...
template <class T>
void put_all(std::map<std::string, checkpoint::Scalar>& scalars,
             std::string_view prefix,
             const std::vector<T>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) scalars[cat(prefix, i)] = values[i];
}

template <class T>
std::vector<T> get_all(const std::map<std::string, checkpoint::Scalar>& scalars,
                       std::string_view prefix) {
  std::vector<T> values;
  while (true) {
    const auto it = scalars.find(cat(prefix, values.size()));
    if (it == scalars.end() || !std::holds_alternative<T>(it->second)) return values;
    values.push_back(std::get<T>(it->second));
  }
}

}  // namespace

std::map<std::string, checkpoint::Scalar> identity_of(const config::OptionTable& table,
                                                      const data::DataSet& set,
                                                      const std::string& model,
                                                      std::int64_t batch_size) {
  std::map<std::string, checkpoint::Scalar> out;
  const auto put = [&](std::string_view name, std::string value) {
    out[cat(kPrefix, name)] = std::move(value);
  };
  const auto put_option = [&](std::string_view name) {
    if (const auto* option = table.find(name)) put(name, join(option->get(), kListSeparator));
  };
  for (const auto* name : kOptions) put_option(name);
  const auto* schedule = table.find("lr-schedule");
  if (schedule != nullptr && (schedule->get()[0] == "cosine" || schedule->get()[0] == "linear"))
    put_option("epochs");
  put("model", model);
  put("batch-size", std::to_string(batch_size));
  put_all(out, "meta/sample_shape/", set.sample_shape);
  put_all(out, "meta/channel_mean/", set.channel_mean);
  put_all(out, "meta/channel_std/", set.channel_std);
  out["meta/num_classes"] = set.num_classes;
  put("data", cat(set.samples, " samples, fingerprint ", hex(set.fingerprint)));
  return out;
}

ModelIdentity model_of(const std::map<std::string, checkpoint::Scalar>& scalars) {
  const auto text = [&](std::string_view name) {
    const auto it = scalars.find(cat(kPrefix, name));
    if (it == scalars.end()) throw DataError(cat("the checkpoint does not say its ", name));
    return text_of(it->second);
  };
  ModelIdentity out;
  out.model = text("model");
  out.task = text("task");
  for (auto rest = text("model-option"); !rest.empty();) {
    const auto at = rest.find(kListSeparator);
    out.model_options.push_back(rest.substr(0, at));
    rest = at == std::string::npos ? "" : rest.substr(at + kListSeparator.size());
  }
  out.sample_shape = get_all<std::int64_t>(scalars, "meta/sample_shape/");
  out.channel_mean = get_all<double>(scalars, "meta/channel_mean/");
  out.channel_std = get_all<double>(scalars, "meta/channel_std/");
  const auto classes = scalars.find("meta/num_classes");
  if (classes != scalars.end()) out.num_classes = std::get<std::int64_t>(classes->second);
  return out;
}

std::vector<Change> changes(const std::map<std::string, checkpoint::Scalar>& saved,
                            const std::map<std::string, checkpoint::Scalar>& now) {
  std::vector<Change> out;
  for (const auto& [name, value] : saved) {
    if (!name.starts_with(kPrefix)) continue;
    const auto it = now.find(name);
    const auto used = it == now.end() ? std::string() : text_of(it->second);
    if (used != text_of(value)) out.push_back({name.substr(kPrefix.size()), text_of(value), used});
  }
  for (const auto& [name, value] : now) {
    if (name.starts_with(kPrefix) && !saved.contains(name))
      out.push_back({name.substr(kPrefix.size()), "", text_of(value)});
  }
  return out;
}

std::string judge_changes(const std::vector<Change>& found,
                          const std::vector<std::string>& allowed) {
  std::vector<std::string> names;  // --allow-change lr,momentum or repeated
  for (const auto& entry : allowed) {
    for (auto& name : split(entry, ',')) names.push_back(trim(name));
  }
  metrics::Table table({{"option"}, {"checkpoint"}, {"used"}});
  metrics::Table refused({{"option"}, {"checkpoint"}, {"now"}});
  std::vector<std::string> refused_names;
  for (const auto& change : found) {
    const bool ok = std::find(names.begin(), names.end(), change.option) != names.end();
    if (!ok) refused_names.push_back(change.option);
    (ok ? table : refused)
        .add({change.option,
              change.saved.empty() ? "-" : change.saved,
              change.used.empty() ? "-" : change.used});
  }
  if (!refused_names.empty()) {
    throw ConfigError(cat("this run differs from the checkpoint:\n",
                          refused.text("  "),
                          "Use the checkpoint's values, or allow the change: --allow-change ",
                          join(refused_names, ",")));
  }
  return found.empty() ? "" : table.text("  ");
}

}  // namespace lockstep::session
