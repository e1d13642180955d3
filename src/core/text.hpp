// SPDX-License-Identifier: MIT
// Small text helpers. Messages are concatenated, not formatted: fmt must stay out of files that see
// LibTorch, which carries another copy of it.
#pragma once

#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// All parts as one string, each as operator<< prints it.
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Parts joined by a separator.
std::string join(std::span<const std::string> parts, std::string_view separator);

/// Pieces between separators, empty ones kept; an empty text has no pieces.
std::vector<std::string> split(std::string_view text, char separator);

/// Text without white space at both ends.
std::string trim(std::string_view text);

/// The shortest decimal text that reads back as the same double ("0.1", "1e-08").
std::string shortest(double value);

/// "1 shard", "4 shards".
std::string counted(std::int64_t number, std::string_view noun);

/// Four significant digits for people: "0.9158".
std::string brief(double value);

/// Bytes for people: "204.7 MB", "812 B" (decimal units).
std::string human_bytes(std::uint64_t bytes);

/// The candidates that a typing mistake away could mean, best first, at most three.
std::vector<std::string> nearest(std::string_view wrong, std::span<const std::string> candidates);

}  // namespace lockstep
