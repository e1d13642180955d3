// SPDX-License-Identifier: MIT
#include "metrics/table.hpp"

#include <algorithm>

#include "core/check.hpp"

namespace lockstep::metrics {
namespace {

// Characters that take a column: bytes that do not continue a UTF-8 character.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string padded(const std::string& cell, std::size_t to, Align align) {
  const std::string space(to - width(cell), ' ');
  return align == Align::kLeft ? cell + space : space + cell;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  std::vector<std::string> titles;
  for (const auto& column : columns_) titles.push_back(column.title);
  const bool any =
      std::any_of(titles.begin(), titles.end(), [](const std::string& t) { return !t.empty(); });
  if (any) rows_.push_back(std::move(titles));
}

Table& Table::add(std::vector<std::string> cells) {
  LOCKSTEP_ASSERT(cells.size() <= columns_.size(),
                  cells.size(),
                  " cells for ",
                  columns_.size(),
                  " columns");
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
  return *this;
}

std::string Table::text(const std::string& indent) const {
  std::vector<std::size_t> widths(columns_.size());
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) line += "  ";
      line += padded(row[c], widths[c], columns_[c].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace lockstep::metrics
