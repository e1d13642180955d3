// SPDX-License-Identifier: MIT
#include "core/text.hpp"

#include <cmath>
#include <limits>

#include "core/check.hpp"
#include "core/random.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using Texts = std::vector<std::string>;

TEST_CASE("joining undoes splitting", "[core]") {
  for (const std::string text : {"a,b,c", "a,,c", ",", "a,", ",a", "one"}) {
    CAPTURE(text);
    CHECK(join(split(text, ','), ",") == text);
  }
  CHECK(split("", ',').empty());
  CHECK(split("a,,c", ',') == Texts{"a", "", "c"});
  CHECK(split("a,", ',') == Texts{"a", ""});
}

TEST_CASE("trimming takes white space at both ends only", "[core]") {
  CHECK(trim("  a b\t\r\n") == "a b");
  CHECK(trim("a") == "a");
  CHECK(trim(" \t ").empty());
  CHECK(trim("").empty());
}

TEST_CASE("the shortest text of a double reads back as the same double", "[core]") {
  CHECK(shortest(0.1) == "0.1");
  CHECK(shortest(1e-8) == "1e-08");
  CHECK(shortest(3) == "3");
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const double value =
        std::ldexp(random_uniform(1, Purpose::kTest, 0, i) - 0.5, static_cast<int>(i) - 500);
    CHECK(std::stod(shortest(value)) == value);
  }
}

TEST_CASE("bytes are told in decimal units with one digit", "[core]") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(999) == "999 B");
  CHECK(human_bytes(1000) == "1.0 kB");
  CHECK(human_bytes(204'700'000) == "204.7 MB");
  CHECK(human_bytes(999'960) == "1.0 MB");  // never "1000.0 kB"
}

TEST_CASE("near names are found for slips of the finger, the nearest first", "[core]") {
  const Texts names =
      {"batch-size", "batch-norm", "bucket-mb", "lr", "lr-final", "epochs", "weight-decay"};
  CHECK(nearest("batch-sice", names).at(0) == "batch-size");
  CHECK(nearest("bacth-size", names).at(0) == "batch-size");  // a swap of neighbours is one slip
  CHECK(nearest("epoch", names) == Texts{"epochs"});
  CHECK(nearest("decay", names) == Texts{"weight-decay"});  // a part of the name
  CHECK(nearest("lr", names).at(0) == "lr");
  CHECK(nearest("quantum-entanglement", names).empty());
  CHECK(nearest("", names).empty());
  const Texts many = {"aab", "aac", "aad", "aae", "aaf"};
  CHECK(nearest("aaa", many).size() == 3);
}

TEST_CASE("a broken assertion says what was expected, with its arguments and place", "[core]") {
  const int begin = 3, end = 2;
  try {
    LOCKSTEP_ASSERT(begin <= end, "begin ", begin, ", end ", end);
    FAIL("the assertion held");
  } catch (const Error& error) {
    const std::string text = error.what();
    CHECK(error.code() == ExitCode::kInternal);
    CHECK(text.find("begin <= end") != std::string::npos);
    CHECK(text.find("begin 3, end 2") != std::string::npos);
    CHECK(text.find("text_test.cpp") != std::string::npos);
  }
}

TEST_CASE("a counted noun has its plural", "[core]") {
  CHECK(counted(1, "shard") == "1 shard");
  CHECK(counted(0, "shard") == "0 shards");
  CHECK(counted(12, "shard") == "12 shards");
}

TEST_CASE("figures for people have four digits", "[core]") {
  CHECK(brief(272.0 / 297) == "0.9158");
  CHECK(brief(0.9) == "0.9");
  CHECK(brief(1e-8) == "1e-08");
}
