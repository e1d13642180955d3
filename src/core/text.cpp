// SPDX-License-Identifier: MIT
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace lockstep {

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (const auto& part : parts) {
    if (&part != &parts.front()) out += separator;
    out += part;
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto at = text.find(separator);
    out.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
    if (text.empty()) out.emplace_back();
  }
  return out;
}

std::string trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kSpace) - begin + 1));
}

std::string shortest(double value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.begin(), buffer.end(), value).ptr;
  return {buffer.begin(), end};
}

std::string counted(std::int64_t number, std::string_view noun) {
  return cat(number, " ", noun, number == 1 ? "" : "s");
}

std::string brief(double value) {
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.4g", value);
  return buffer.data();
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(),
                buffer.size(),
                unit == 0 ? "%.0f %s" : "%.1f %s",
                value,
                kUnits[unit]);
  return buffer.data();
}

namespace {

// Edit distance with adjacent swaps (optimal string alignment), rows of the usual table.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::vector<std::string> nearest(std::string_view wrong, std::span<const std::string> candidates) {
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const auto& candidate : candidates) {
    const auto distance = edit_distance(wrong, candidate);
    const bool contained =
        (wrong.size() >= 3 && candidate.find(wrong) != std::string::npos) ||
        (candidate.size() >= 4 && wrong.find(candidate) != std::string_view::npos);
    if (distance <= std::max<std::size_t>(1, wrong.size() / 3)) {
      found.emplace_back(distance, candidate);
    } else if (contained) {
      found.emplace_back(100 + distance, candidate);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, found.size()); ++i)
    out.push_back(found[i].second);
  return out;
}

}  // namespace lockstep
