// SPDX-License-Identifier: MIT
#include "core/duration.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using Unit = Cadence::Unit;

TEST_CASE("durations are steps, epochs or minutes and print as they are read", "[core]") {
  CHECK(parse_cadence("500") == Cadence{Unit::kSteps, 500});
  CHECK(parse_cadence("2e") == Cadence{Unit::kEpochs, 2});
  CHECK(parse_cadence("10m") == Cadence{Unit::kMinutes, 10});
  CHECK(parse_cadence("0.5m") == Cadence{Unit::kMinutes, 0.5});
  for (const char* text : {"500", "2e", "10m", "0.5m", "0", "1000000000"})
    CHECK(parse_cadence(text).text() == text);
  CHECK(parse_cadence("0e") == Cadence{});
  CHECK(Cadence{}.never());
}

TEST_CASE("a duration that is none is refused with what is allowed", "[core]") {
  for (const char* text :
       {"",    "e",   "m",   "-1",   "1.5",  "1.5e", "1e3",        "10s",  "10 m", " 10",
        "10M", "nan", "inf", "nanm", "infm", "-0",   "1000000001", "0x10", "+5",   "5ee"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_cadence(text), ConfigError);
    CHECK_THROWS_WITH(parse_cadence(text),
                      Catch::Contains("allowed: steps (500), epochs (2e), minutes (10m"));
  }
}

TEST_CASE("it is time every so many steps, epochs or minutes", "[core]") {
  std::vector<std::int64_t> steps, epochs;
  for (std::int64_t step = 0; step <= 20; ++step) {
    if (parse_cadence("6").due(step, 4, 0)) steps.push_back(step);
    if (parse_cadence("2e").due(step, 4, 0)) epochs.push_back(step);
    CHECK_FALSE(Cadence{}.due(step, 4, 1e9));
  }
  CHECK(steps == std::vector<std::int64_t>{6, 12, 18});
  CHECK(epochs == std::vector<std::int64_t>{8, 16});
  CHECK_FALSE(parse_cadence("0.5m").due(7, 4, 29.9));
  CHECK(parse_cadence("0.5m").due(7, 4, 30));
  CHECK(parse_cadence("30e").in_steps(10) == 300);
}
