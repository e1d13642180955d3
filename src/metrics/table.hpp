// SPDX-License-Identifier: MIT
// A plain text table for terminals and logs: the start table, `info`.
#pragma once

#include <string>
#include <vector>

namespace lockstep::metrics {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

/// Columns as wide as their widest cell, two spaces between them, no line ends with spaces.
class Table {
 public:
  explicit Table(std::vector<Column> columns);
  /// A row has a cell for every column; a shorter one is filled with empty cells.
  Table& add(std::vector<std::string> cells);
  /// Every line begins with `indent` and ends with a line end. Without titles there is no head.
  std::string text(const std::string& indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace lockstep::metrics
