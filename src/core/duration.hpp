// SPDX-License-Identifier: MIT
// How often something happens, as users write it: "500" steps, "2e" epochs, "10m" minutes, "0"
// never. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

struct Cadence {
  enum class Unit { kSteps, kEpochs, kMinutes };
  Unit unit = Unit::kSteps;
  double count = 0;  ///< whole for steps and epochs; 0: never

  bool never() const { return count == 0; }
  /// Steps between two times; 0 for minutes and never.
  std::int64_t in_steps(std::int64_t steps_per_epoch) const;
  /// Whether it is time after `step` finished steps. `seconds_since_last` counts for minutes only;
  /// clocks of ranks differ, so that the answer for minutes must be agreed on.
  bool due(std::int64_t step, std::int64_t steps_per_epoch, double seconds_since_last) const;
  /// The form that parse_cadence() reads.
  std::string text() const;
  friend bool operator==(const Cadence&, const Cadence&) = default;
};

/// "500", "2e", "10m", "0.5m", "0"; throws ConfigError that says what is allowed.
Cadence parse_cadence(std::string_view text);

}  // namespace lockstep
