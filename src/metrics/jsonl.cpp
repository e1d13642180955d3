// SPDX-License-Identifier: MIT
#include "metrics/jsonl.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "core/error.hpp"
#include "core/text.hpp"

namespace lockstep::metrics {
namespace {

using Json = nlohmann::ordered_json;

std::string number_text(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  return shortest(value);
}

std::string json_string(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string value_text(const std::variant<std::int64_t, double, bool, std::string>& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>)
          return v ? "true" : "false";
        else if constexpr (std::is_same_v<T, double>)
          return number_text(v);
        else if constexpr (std::is_same_v<T, std::string>)
          return json_string(v);
        else
          return std::to_string(v);
      },
      value);
}

// A line that is no row of ours stays where it is.
bool is_later(const std::string& line, std::int64_t step) {
  const Json row = Json::parse(line, nullptr, false);
  if (!row.is_object()) return false;
  const auto it = row.find("step");
  return it != row.end() && it->is_number_integer() && it->get<std::int64_t>() > step;
}

// Where the first row of a later step, or a half row, begins.
std::int64_t bytes_to_keep(std::ifstream& in, std::int64_t step) {
  std::int64_t keep = 0;
  for (std::string line; std::getline(in, line);) {
    if (in.eof() || is_later(line, step)) break;
    keep += static_cast<std::int64_t>(line.size()) + 1;
  }
  return keep;
}

}  // namespace

std::string json_line(std::string_view event, const Row& row) {
  std::string out = cat("{\"event\":", json_string(event));
  for (const auto& field : row)
    out += cat(",", json_string(field.name), ":", value_text(field.value));
  return out + "}";
}

std::int64_t cut_after(const std::filesystem::path& path, std::int64_t step) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return 0;
  std::ifstream in(path, std::ios::binary);
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  if (!in || error)
    throw IoError(cat(path.string(),
                      ": cannot read the metrics of the run that is resumed: ",
                      std::strerror(errno)));
  const std::int64_t keep = bytes_to_keep(in, step);
  if (keep < size) std::filesystem::resize_file(path, static_cast<std::uintmax_t>(keep), error);
  if (error)
    throw IoError(
        cat(path.string(), ": cannot cut the rows after step ", step, ": ", error.message()));
  return size - keep;
}

void MetricsFile::Descriptor::close(int fd) noexcept { ::close(fd); }

MetricsFile::MetricsFile(std::filesystem::path path) : path_(std::move(path)) {
  file_ = UniqueHandle<Descriptor>(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file_)
    throw CannotCreateError(
        cat(path_.string(), ": cannot write metrics there: ", std::strerror(errno)));
}

void MetricsFile::write(std::string_view event, const Row& row) {
  const std::string line = json_line(event, row) + "\n";
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t n = ::write(file_.get(), line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw IoError(cat(path_.string(), ": cannot append metrics: ", std::strerror(errno)));
    done += static_cast<std::size_t>(n);
  }
}

}  // namespace lockstep::metrics
