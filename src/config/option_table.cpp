// SPDX-License-Identifier: MIT
#include "config/option_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/detail/config_line.hpp"
#include "core/digest.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace lockstep::config {
namespace {

std::string allowed_range(const std::string& low,
                          const std::string& high,
                          bool low_open,
                          bool high_open) {
  if (low.empty() && high.empty()) return "a number";
  if (high.empty()) return cat("a number ", low_open ? "> " : ">= ", low);
  if (low.empty()) return cat("a number ", high_open ? "< " : "<= ", high);
  return cat("a number in ", low_open ? "(" : "[", low, ", ", high, high_open ? ")" : "]");
}

// What a line of a config file could not hold would make --print-config lie.
void check_fits_a_line(const std::string& text) {
  const bool has_ends =
      text.find_first_of("\n\r") != std::string::npos || text.find('\0') != std::string::npos;
  if (has_ends || trim(text) != text || detail::comment_begin(text) != text.size()) {
    throw ConfigError(
        "allowed: text without line ends, without white space at its ends and without a # after "
        "white space");
  }
}

}  // namespace

const char* source_name(Source source) {
  constexpr const char* kNames[] = {"default", "file", "environment", "command line"};
  return kNames[static_cast<int>(source)];
}

std::int64_t parse_integer(std::string_view text, std::int64_t min, std::int64_t max) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < min ||
      value > max) {
    using Limits = std::numeric_limits<std::int64_t>;
    throw ConfigError(cat("allowed: a whole number",
                          min == Limits::min() && max == Limits::max() ? std::string()
                          : max == Limits::max()                       ? cat(" >= ", min)
                                                 : cat(" in [", min, ", ", max, "]")));
  }
  return value;
}

double parse_real(std::string_view text, const RealRule& rule) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool parsed = !text.empty() && error == std::errc() && end == text.data() + text.size() &&
                      std::isfinite(value);
  const bool low_ok = rule.min_open ? value > rule.min : value >= rule.min;
  const bool high_ok = rule.max_open ? value < rule.max : value <= rule.max;
  if (!parsed || !low_ok || !high_ok) {
    throw ConfigError(cat("allowed: ",
                          allowed_range(std::isinf(rule.min) ? "" : shortest(rule.min),
                                        std::isinf(rule.max) ? "" : shortest(rule.max),
                                        rule.min_open,
                                        rule.max_open)));
  }
  return value;
}

void OptionTable::group(std::string name) {
  if (std::find(groups_.begin(), groups_.end(), name) == groups_.end()) groups_.push_back(name);
  group_ = std::move(name);
}

Option& OptionTable::add(std::string name, std::string value_hint, std::string help) {
  Option option;
  option.name = std::move(name);
  option.value_hint = std::move(value_hint);
  option.help = std::move(help);
  option.group = group_;
  options_.push_back(std::move(option));
  return options_.back();
}

void OptionTable::integer(std::string name, std::int64_t& target, IntegerRule rule) {
  auto& option = add(std::move(name), "N", rule.help);
  option.set = [&target, rule](const std::string& text) {
    target = parse_integer(text, rule.min, rule.max);
  };
  option.get = [&target] { return std::vector{std::to_string(target)}; };
  option.default_text = option.get();
}

void OptionTable::real(std::string name, double& target, RealRule rule) {
  auto& option = add(std::move(name), "X", rule.help);
  option.set = [&target, rule](const std::string& text) { target = parse_real(text, rule); };
  option.get = [&target] { return std::vector{shortest(target)}; };
  option.default_text = option.get();
}

void OptionTable::text(std::string name,
                       std::string& target,
                       std::string value_hint,
                       std::string help) {
  auto& option = add(std::move(name), std::move(value_hint), std::move(help));
  option.set = [&target](const std::string& text) {
    check_fits_a_line(text);
    target = text;
  };
  option.get = [&target] {
    return target.empty() ? std::vector<std::string>{} : std::vector{target};
  };
  option.default_text = option.get();
}

void OptionTable::flag(std::string name, bool& target, std::string help) {
  auto& option = add(std::move(name), "", std::move(help));
  option.set = [&target](const std::string& text) {
    if (text != "true" && text != "false") throw ConfigError("allowed: true, false");
    target = text == "true";
  };
  option.get = [&target] { return std::vector<std::string>{target ? "true" : "false"}; };
  option.default_text = option.get();
}

void OptionTable::choice(std::string name,
                         std::string& target,
                         std::vector<std::string> allowed,
                         std::string help) {
  auto& option = add(std::move(name), join(allowed, "/"), std::move(help));
  option.set = [&target, allowed](const std::string& text) {
    if (std::find(allowed.begin(), allowed.end(), text) == allowed.end())
      throw ConfigError(cat("allowed: ", join(allowed, ", ")));
    target = text;
  };
  option.get = [&target] { return std::vector{target}; };
  option.default_text = option.get();
}

void OptionTable::list(std::string name,
                       std::vector<std::string>& target,
                       std::string value_hint,
                       std::string help) {
  auto& option = add(std::move(name), std::move(value_hint), std::move(help));
  option.is_list = true;
  option.set = [&target](const std::string& text) {
    check_fits_a_line(text);
    target.push_back(text);
  };
  option.clear = [&target] { target.clear(); };
  option.get = [&target] { return target; };
  option.default_text = option.get();
}

void OptionTable::custom(Option option) {
  option.group = group_;
  option.default_text = option.get();
  options_.push_back(std::move(option));
}

void OptionTable::exclude_from_digest(std::string_view name) {
  for (auto& option : options_) {
    if (option.name == name) option.in_digest = false;
  }
}

const Option* OptionTable::find(std::string_view name) const {
  const auto it = std::find_if(options_.begin(), options_.end(), [&](const Option& o) {
    return o.name == name;
  });
  return it == options_.end() ? nullptr : &*it;
}

bool OptionTable::given(std::string_view name) const {
  const auto* option = find(name);
  return option != nullptr && option->source != Source::kDefault;
}

std::vector<std::string> OptionTable::changed() const {
  std::vector<std::string> out;
  for (const auto& option : options_) {
    if (option.source != Source::kDefault) {
      out.push_back(
          cat(option.name, " = ", join(option.get(), ", "), " (", source_name(option.source), ")"));
    }
  }
  return out;
}

std::uint64_t OptionTable::digest() const {
  DigestStream stream;
  for (const auto& option : options_) {
    if (!option.in_digest) continue;
    stream.add(option.name);
    for (const auto& value : option.get()) stream.add("\n=").add(value);
    stream.add("\n");
  }
  return stream.value();
}

}  // namespace lockstep::config
