// SPDX-License-Identifier: MIT
#include "core/duration.hpp"

#include <charconv>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"

namespace lockstep {

std::int64_t Cadence::in_steps(std::int64_t steps_per_epoch) const {
  const auto whole = static_cast<std::int64_t>(count);
  if (unit == Unit::kMinutes) return 0;
  return unit == Unit::kEpochs ? whole * steps_per_epoch : whole;
}

bool Cadence::due(std::int64_t step,
                  std::int64_t steps_per_epoch,
                  double seconds_since_last) const {
  if (never() || step <= 0) return false;
  if (unit == Unit::kMinutes) return seconds_since_last >= 60 * count;
  return step % in_steps(steps_per_epoch) == 0;
}

std::string Cadence::text() const {
  constexpr const char* kUnits[] = {"", "e", "m"};
  if (unit == Unit::kMinutes) return cat(shortest(count), "m");
  return cat(static_cast<std::int64_t>(count), never() ? "" : kUnits[static_cast<int>(unit)]);
}

Cadence parse_cadence(std::string_view text) {
  constexpr double kMax =
      1e9;  // steps stay exact in a double, and times steps per epoch in 64 bits
  Cadence out;
  std::string_view number = text;
  if (number.ends_with('e')) out.unit = Cadence::Unit::kEpochs;
  if (number.ends_with('m')) out.unit = Cadence::Unit::kMinutes;
  if (out.unit != Cadence::Unit::kSteps) number.remove_suffix(1);
  // No exponents: "1e3" would read as an epoch to people.
  const auto [end, error] = std::from_chars(number.data(),
                                            number.data() + number.size(),
                                            out.count,
                                            std::chars_format::fixed);
  const bool is_number = !number.empty() && error == std::errc() &&
                         end == number.data() + number.size() && std::isfinite(out.count);
  const bool whole = out.unit == Cadence::Unit::kMinutes || out.count == std::floor(out.count);
  if (!is_number || !whole || std::signbit(out.count) || out.count > kMax) {
    throw ConfigError("allowed: steps (500), epochs (2e), minutes (10m, 0.5m), or 0 for never");
  }
  if (out.never()) out.unit = Cadence::Unit::kSteps;
  return out;
}

}  // namespace lockstep
