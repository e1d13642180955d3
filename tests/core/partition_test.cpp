// SPDX-License-Identifier: MIT
#include "core/partition.hpp"

#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("parts are contiguous, cover everything once and differ by at most one", "[core]") {
  for (std::int64_t total : {0, 1, 2, 7, 10, 64, 1000}) {
    for (std::int64_t parts : {1, 2, 3, 4, 7, 8, 16}) {
      CAPTURE(total, parts);
      std::int64_t next = 0;
      for (std::int64_t i = 0; i < parts; ++i) {
        const Range part = part_of(total, parts, i);
        CHECK(part.begin == next);
        CHECK(part.size() >= total / parts);
        CHECK(part.size() <= ceil_div(total, parts));
        next = part.end;
      }
      CHECK(next == total);
    }
  }
}

TEST_CASE("the longer parts come first", "[core]") {
  CHECK(part_of(10, 4, 0) == Range{0, 3});
  CHECK(part_of(10, 4, 1) == Range{3, 6});
  CHECK(part_of(10, 4, 2) == Range{6, 8});
  CHECK(part_of(10, 4, 3) == Range{8, 10});
  CHECK(part_of(2, 4, 3).empty());  // more ranks than samples
}

TEST_CASE("parts of more elements than 32 bits can count are right", "[core]") {
  constexpr std::int64_t kTotal = (std::int64_t{1} << 40) + 3;
  CHECK(part_of(kTotal, 8, 7).end == kTotal);
  CHECK(part_of(kTotal, 8, 0).size() == (std::int64_t{1} << 37) + 1);
}

TEST_CASE("rounding up gives the next multiple", "[core]") {
  CHECK(round_up(0, 8) == 0);
  CHECK(round_up(1, 8) == 8);
  CHECK(round_up(8, 8) == 8);
  CHECK(ceil_div(9, 8) == 2);
  CHECK(ceil_div(0, 8) == 0);
}
