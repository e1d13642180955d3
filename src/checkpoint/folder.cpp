// SPDX-License-Identifier: MIT
#include "checkpoint/folder.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "core/text.hpp"

namespace lockstep::checkpoint {
namespace {

std::string name_of(std::int64_t step, const char* suffix) {
  std::array<char, 48> buffer;
  std::snprintf(buffer.data(),
                buffer.size(),
                "step-%08lld%s",
                static_cast<long long>(step),
                suffix);
  return buffer.data();
}

}  // namespace

std::string data_name(std::int64_t step) { return name_of(step, ".h5"); }
std::string manifest_name(std::int64_t step) { return name_of(step, ".json"); }

std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with("step-") || !name.ends_with(".h5")) return std::nullopt;
  const auto digits = name.substr(5, name.size() - 8);
  std::int64_t step = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), step);
  // The one spelling of a step: no other file can stand for it.
  if (step < 0 || data_name(step) != name) return std::nullopt;
  return step;
}

bool is_leftover(std::string_view name) {
  const auto at = name.find(".tmp-");
  if (at == std::string_view::npos) return false;
  const std::string_view base = name.substr(0, at);
  if (base == kLatest || step_of(base)) return true;
  return base.ends_with(".json") &&
         step_of(cat(base.substr(0, base.size() - 5), ".h5")).has_value();
}

std::vector<std::int64_t> superseded(std::span<const Held> held,
                                     std::int64_t current,
                                     std::int64_t keep) {
  std::vector<std::int64_t> complete;
  for (const auto& one : held) {
    if (one.complete && one.step <= current) complete.push_back(one.step);
  }
  if (keep <= 0 || static_cast<std::int64_t>(complete.size()) < keep) return {};
  std::sort(complete.rbegin(), complete.rend());
  const auto oldest_kept = complete[static_cast<std::size_t>(keep - 1)];
  std::vector<std::int64_t> out;
  for (const auto& one : held) {
    if (one.step < oldest_kept) out.push_back(one.step);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace lockstep::checkpoint
