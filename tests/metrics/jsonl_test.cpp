// SPDX-License-Identifier: MIT
#include "metrics/jsonl.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/random.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace lockstep;
using namespace lockstep::metrics;
using namespace lockstep::test;
using Json = nlohmann::ordered_json;

namespace {

std::string step_row(std::int64_t step) {
  return json_line("step", {{"step", step}, {"loss", 1.0 / static_cast<double>(step)}}) + "\n";
}

std::string rows(std::int64_t first, std::int64_t last) {
  std::string out;
  for (auto step = first; step <= last; ++step) out += step_row(step);
  return out;
}

ExitCode code_of(const std::function<void()>& work, std::string& text) {
  try {
    work();
  } catch (const Error& error) {
    text = error.what();
    return error.code();
  }
  return ExitCode::kDone;
}

}  // namespace

TEST_CASE("a row is one JSON object with its fields in their order", "[metrics]") {
  CHECK(
      json_line("step",
                {{"step", 1}, {"epoch", 0}, {"loss", 2.5}, {"skipped", true}, {"file", "a.h5"}}) ==
      R"({"event":"step","step":1,"epoch":0,"loss":2.5,"skipped":true,"file":"a.h5"})");
  CHECK(json_line("end", {}) == R"({"event":"end"})");
}

TEST_CASE("losses keep all their digits", "[metrics]") {
  for (std::uint32_t i = 0; i < 2000; ++i) {
    const double loss =
        std::ldexp(random_uniform(3, Purpose::kTest, 0, i), static_cast<int>(i % 600) - 300);
    CHECK(Json::parse(json_line("step", {{"loss", loss}})).at("loss").get<double>() == loss);
  }
  CHECK(json_line("step", {{"loss", 0.1}}) == R"({"event":"step","loss":0.1})");
  const std::int64_t large = std::numeric_limits<std::int64_t>::max();
  CHECK(Json::parse(json_line("step", {{"samples", large}})).at("samples").get<std::int64_t>() ==
        large);
}

TEST_CASE("what is not finite is a string, so that every row is JSON", "[metrics]") {
  const double inf = std::numeric_limits<double>::infinity();
  const auto row =
      Json::parse(json_line("step", {{"loss", std::nan("")}, {"grad_norm", inf}, {"x", -inf}}));
  CHECK(row.at("loss") == "nan");
  CHECK(row.at("grad_norm") == "inf");
  CHECK(row.at("x") == "-inf");
}

TEST_CASE("strings are escaped: a row stays a line", "[metrics]") {
  const std::string text = "a\"b\\c\nd\te\x01 \xc3\xa4";
  const auto line = json_line("start", {{"launch", text}});
  CHECK(line.find('\n') == std::string::npos);
  CHECK(Json::parse(line).at("launch") == text);
  CHECK(Json::accept(json_line("start", {{"path", std::string("bad \xff\xfe bytes")}})));
}

TEST_CASE("rows are appended, also by a second writer after the first", "[metrics]") {
  const TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  {
    MetricsFile file(path);
    file.write("step", {{"step", 1}});
    CHECK(read_file(path) ==
          "{\"event\":\"step\",\"step\":1}\n");  // there at once, nothing is held back
  }
  MetricsFile(path).write("step", {{"step", 2}});
  CHECK(read_file(path) == "{\"event\":\"step\",\"step\":1}\n{\"event\":\"step\",\"step\":2}\n");
}

TEST_CASE("a resumed run cuts the rows of later steps and keeps what came before", "[metrics]") {
  const TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  const std::string start = json_line("start", {{"schema", 1}}) + "\n";
  const std::string eval = json_line("eval", {{"step", 15}, {"loss", 0.5}}) + "\n";
  const std::string end = json_line("end", {{"code", 137}}) + "\n";
  write_file(path, start + rows(1, 15) + eval + rows(16, 20) + end);
  CHECK(cut_after(path, 15) == static_cast<std::int64_t>((rows(16, 20) + end).size()));
  CHECK(read_file(path) == start + rows(1, 15) + eval);
  MetricsFile(path).write("step", {{"step", 16}, {"loss", 1.0 / 16}});
  CHECK(read_file(path) == start + rows(1, 15) + eval + step_row(16));
  CHECK(cut_after(path, 16) == 0);
}

TEST_CASE("the end row of a run that stopped at the resumed step stays", "[metrics]") {
  const TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  const std::string text = rows(1, 3) + json_line("end", {{"code", 85}}) + "\n";
  write_file(path, text);
  CHECK(cut_after(path, 3) == 0);
  CHECK(read_file(path) == text);
}

TEST_CASE("a half row at the end is cut", "[metrics]") {
  const TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  for (const std::string half : {"{\"event\":\"st", "{", "{\"event\":\"step\",\"step\":3}"}) {
    CAPTURE(half);
    write_file(path, rows(1, 2) + half);
    CHECK(cut_after(path, 10) == static_cast<std::int64_t>(half.size()));
    CHECK(read_file(path) == rows(1, 2));
  }
}

TEST_CASE("lines of others are left alone, and so is a missing file", "[metrics]") {
  const TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  const std::string foreign = "\nnot json\n[1,2]\n{\"step\":\"9\"}\n{\"step\":9.5}\n";
  write_file(path, foreign + rows(1, 2));
  CHECK(cut_after(path, 1) == static_cast<std::int64_t>(step_row(2).size()));
  CHECK(read_file(path) == foreign + rows(1, 1));
  CHECK(cut_after(folder / "none.jsonl", 1) == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "none.jsonl"));
}

TEST_CASE("a file that cannot be made is told with its path and reason", "[metrics]") {
  std::string text;
  CHECK(code_of([] { MetricsFile file("no/such/folder/metrics.jsonl"); }, text) ==
        ExitCode::kCannotCreate);
  CHECK(text.find("no/such/folder/metrics.jsonl: ") == 0);
  CHECK(text.find("No such file") != std::string::npos);
}

TEST_CASE("a full disk is an I/O error, not silence", "[metrics]") {
  if (!std::filesystem::exists("/dev/full")) return;
  std::string text;
  MetricsFile full("/dev/full");
  CHECK(code_of([&] { full.write("step", {{"step", 1}}); }, text) == ExitCode::kIo);
  CHECK(text.find("/dev/full") == 0);
  CHECK(text.find("No space left") != std::string::npos);
}
