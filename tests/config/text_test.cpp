// SPDX-License-Identifier: MIT
// What the table prints, and its digest.
#include "core/text.hpp"
#include "config/sample.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace lockstep;
using namespace lockstep::test;
using Texts = std::vector<std::string>;

namespace {

std::uint64_t digest_of(const Texts& arguments) {
  Sample sample;
  sample.parse(arguments);
  return sample.table.digest();
}

/// What a run with `arguments` prints, and what a run from that file prints.
std::pair<std::string, std::string> printed_twice(const Texts& arguments) {
  const TemporaryFolder folder;
  const auto file = (folder / "config.ini").string();
  Sample first;
  first.parse(arguments);
  write_file(file, first.table.print());
  Sample second;
  second.parse({"--config", file});
  return {first.table.print(), second.table.print()};
}

}  // namespace

TEST_CASE("the printed configuration is a config file that gives the same again", "[config]") {
  const auto arguments =
      GENERATE(Texts{},
               Texts{"--lr", "0.1", "--batch-size", "7", "--nesterov", "--mode", "manual"},
               Texts{"--lr", "1.0000000000000002e-5", "--freeze", "a = b", "--freeze", "c"},
               Texts{"--data", "runs/a b=c", "--plugin", "x.so"},
               Texts{"--data", "runs/a#b"},
               Texts{"--freeze", "layer[#0-9]+"});
  const auto [first, second] = printed_twice(arguments);
  CHECK(first == second);
}

TEST_CASE("a value that a config file could not hold is refused, not changed", "[config]") {
  for (const std::string value : {"runs/a #b", "#a", " a", "a "}) {
    CAPTURE(value);
    if (!error_of({"--data", value}).empty()) continue;
    const auto [first, second] = printed_twice({"--data", value});
    CHECK(first == second);
  }
}

TEST_CASE("help lists every option with its default under its group", "[config]") {
  Sample sample;
  const auto text = sample.table.help();
  for (const auto& option : sample.table.options()) {
    CAPTURE(option.name);
    CHECK(contains(text, "--" + option.name));
    CHECK(contains(text, option.help));
    CHECK(contains(text, "\n" + option.group + "\n"));
  }
  CHECK(contains(text, "(default 64)"));
  CHECK(contains(text, "(default 0.01)"));
  CHECK(contains(text, "ddp/dp/manual"));
}

TEST_CASE("a group that several rooms add to is printed once, where it was first named",
          "[config]") {
  std::int64_t number = 0;
  config::OptionTable table;
  table.integer("lone", number, {.help = "no group"});
  table.group("empty");
  table.group("run");
  table.integer("epochs", number, {.help = "a"});
  table.group("debugging");
  table.integer("trace", number, {.help = "b"});
  table.group("run");
  table.integer("threads", number, {.help = "c"});
  CHECK(table.print() == "lone = 0\n\n# run\nepochs = 0\nthreads = 0\n\n# debugging\ntrace = 0\n");
  const auto text = table.help();
  std::size_t at = 0;
  for (const char* part :
       {"--lone", "\nrun\n", "--epochs", "--threads", "\ndebugging\n", "--trace"}) {
    CAPTURE(part, text);
    at = text.find(part, at);
    REQUIRE(at != std::string::npos);
  }
  CHECK(text.find("\nrun\n") == text.rfind("\nrun\n"));
  CHECK_FALSE(contains(text, "empty"));
}

TEST_CASE("help is at most 100 columns wide and loses no word", "[config]") {
  std::string name;
  std::string words;
  for (int i = 0; i < 60; ++i) words += cat(i > 0 ? " " : "", "word", i);
  config::OptionTable table;
  table.text("short", name, "NAME", words);
  table.text("an-option-with-a-name-that-is-long", name, "NAME", words);
  std::string seen;
  for (const auto& line : split(table.help(), '\n')) {
    CAPTURE(line);
    CHECK(line.size() <= 100);
    CHECK(trim(cat(".", line)).size() == line.size() + 1);  // no white space at its end
    seen += cat(" ", trim(line));
  }
  CHECK(contains(seen, words));
  CHECK(contains(seen, "--an-option-with-a-name-that-is-long NAME " + words));
}

TEST_CASE("help shows the defaults, also after other values were read", "[config]") {
  Sample sample;
  const auto before = sample.table.help();
  sample.parse({"--lr", "0.7"});
  CHECK(sample.table.help() == before);
}

TEST_CASE("the digest follows the values, not where they came from", "[config]") {
  CHECK(digest_of({}) == digest_of({"--batch-size", "64"}));
  CHECK(digest_of({"--lr", "0.1"}) == digest_of({"--lr", "1e-1"}));
  CHECK(digest_of({}) != digest_of({"--batch-size", "65"}));
  CHECK(digest_of({"--freeze", "a", "--freeze", "b"}) !=
        digest_of({"--freeze", "b", "--freeze", "a"}));
  CHECK(digest_of({"--freeze", "a", "--freeze", "b"}) != digest_of({"--freeze", "a=b"}));
  CHECK(digest_of({}) == digest_of({"--log-every", "5"}));  // excluded: ranks may differ in it
}

TEST_CASE("numbers are read whole or not at all", "[config]") {
  CHECK(config::parse_integer("12", 0, 100) == 12);
  CHECK(config::parse_integer("-9223372036854775808",
                              std::numeric_limits<std::int64_t>::min(),
                              0) == std::numeric_limits<std::int64_t>::min());
  CHECK_THROWS_AS(config::parse_integer("12a", 0, 100), ConfigError);
  CHECK_THROWS_AS(config::parse_integer("101", 0, 100), ConfigError);
  CHECK(config::parse_real("2.5e-1", {}) == 0.25);
  CHECK_THROWS_AS(config::parse_real("1", (config::RealRule{.max = 1, .max_open = true})),
                  ConfigError);
  CHECK_THROWS_AS(config::parse_real("0", (config::RealRule{.min = 0, .min_open = true})),
                  ConfigError);
  CHECK(config::parse_real("0", {.min = 0}) == 0);
}
