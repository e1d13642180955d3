// SPDX-License-Identifier: MIT
// What a line of a config file can hold; reading and printing must agree on it.
#pragma once

#include <cctype>
#include <string_view>

namespace lockstep::config::detail {

// A comment begins with # at the start of a line or after white space.
inline std::size_t comment_begin(std::string_view line) {
  for (auto at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || std::isspace(static_cast<unsigned char>(line[at - 1])) != 0) return at;
  }
  return line.size();
}

}  // namespace lockstep::config::detail
