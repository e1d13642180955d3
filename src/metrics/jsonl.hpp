// SPDX-License-Identifier: MIT
// metrics.jsonl: one JSON object a line, for programs. Each row is one write() of a whole line to a
// file opened for appending: a reader never sees half a row of a living run, and a killed run
// leaves at most one half row at the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/unique_handle.hpp"

namespace lockstep::metrics {

/// One field of a row. Doubles are written with all their digits (the shortest text that reads back
/// as the same value); JSON has no words for what is not finite: those are the strings "nan", "inf"
/// and "-inf".
struct Field {
  std::string name;
  std::variant<std::int64_t, double, bool, std::string> value;
};
using Row = std::vector<Field>;

/// The row as it is written, without the line end: {"event":EVENT, fields in their order}. Bytes of
/// a string that are no UTF-8 are replaced.
std::string json_line(std::string_view event, const Row& row);

/// Prepares the file of a run that is resumed after `step`: cuts from the first row of a later step
/// on, and a half row at the end. Returns the number of bytes cut. A missing file is left alone.
/// Throws IoError.
std::int64_t cut_after(const std::filesystem::path& path, std::int64_t step);

/// Rank 0's file. Not thread-safe.
class MetricsFile {
 public:
  /// Makes the file or appends to the one that is there. Throws CannotCreateError.
  explicit MetricsFile(std::filesystem::path path);
  /// Appends one row. Throws IoError (a full disk).
  void write(std::string_view event, const Row& row);
  const std::filesystem::path& path() const { return path_; }

 private:
  struct Descriptor {
    using Value = int;
    static int invalid() { return -1; }
    static void close(int fd) noexcept;
  };
  std::filesystem::path path_;
  UniqueHandle<Descriptor> file_;
};

}  // namespace lockstep::metrics
