// SPDX-License-Identifier: MIT
// Reads --model-option values for factories, and remembers which names a factory asked for.
#include <algorithm>

#include "core/error.hpp"
#include "core/text.hpp"
#include "model/network.hpp"

namespace lockstep::model {
namespace {

// Runs a parser and puts the option's name in front of what it says.
template <class Parse>
auto named(const std::string& name, const std::string& value, Parse parse) {
  try {
    return parse(value);
  } catch (const Error& error) {
    throw ConfigError(cat("--model-option ", name, "=", value, ": ", error.what()));
  }
}

}  // namespace

const std::string* Spec::find(const std::string& name) {
  asked_.insert(name);
  const auto found = options.find(name);
  return found == options.end() ? nullptr : &found->second;
}

std::int64_t Spec::integer(const std::string& name,
                           std::int64_t fallback,
                           std::int64_t min,
                           std::int64_t max) {
  const std::string* value = find(name);
  if (value == nullptr) return fallback;
  return named(name, *value, [&](const std::string& text) {
    return config::parse_integer(text, min, max);
  });
}

double Spec::real(const std::string& name, double fallback, double min, double max) {
  const std::string* value = find(name);
  if (value == nullptr) return fallback;
  return named(name, *value, [&](const std::string& text) {
    return config::parse_real(text, {.min = min, .max = max});
  });
}

std::vector<std::int64_t> Spec::integers(const std::string& name,
                                         std::vector<std::int64_t> fallback,
                                         std::int64_t min,
                                         std::int64_t max) {
  const std::string* value = find(name);
  if (value == nullptr) return fallback;
  return named(name, *value, [&](const std::string& text) {
    std::vector<std::int64_t> out;
    for (const std::string& part : split(text, ',')) {
      out.push_back(config::parse_integer(trim(part), min, max));
    }
    return out;
  });
}

std::int64_t Spec::classes() const {
  if (num_classes < 1) {
    throw ConfigError(cat("the data set has ",
                          num_classes,
                          " classes, but the model needs to know how many outputs it has"));
  }
  return num_classes;
}

void Spec::check_all_used(const std::string& model) const {
  const std::vector<std::string> known(asked_.begin(), asked_.end());
  for (const auto& [name, value] : options) {
    if (asked_.contains(name)) continue;
    const std::vector<std::string> near = nearest(name, known);
    throw ConfigError(
        cat("--model-option ",
            name,
            "=",
            value,
            ": model ",
            model,
            " has no option '",
            name,
            "'",
            near.empty() ? "" : cat("; did you mean ", join(near, ", "), "?"),
            known.empty() ? " It takes none." : cat(" Its options: ", join(known, ", "))));
  }
}

std::map<std::string, std::string> parse_options(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> out;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw ConfigError(cat("--model-option: '", text, "' is not NAME=VALUE, as in width=64"));
    }
    const std::string name = trim(text.substr(0, equals));
    if (!out.emplace(name, trim(text.substr(equals + 1))).second) {
      throw ConfigError(cat("--model-option: '", name, "' is given twice"));
    }
  }
  return out;
}

}  // namespace lockstep::model
