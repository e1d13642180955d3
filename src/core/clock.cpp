// SPDX-License-Identifier: MIT
#include "core/clock.hpp"

#include <array>
#include <ctime>

namespace lockstep {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> buffer;
  std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return buffer.data();
}

}  // namespace lockstep
