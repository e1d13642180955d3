// SPDX-License-Identifier: MIT
#include "core/random.hpp"

#include <cmath>
#include <set>

#include "support/catch.hpp"

using namespace lockstep;
using Block = std::array<std::uint32_t, 4>;

TEST_CASE("philox gives the vectors of its authors' known-answer file", "[core]") {
  constexpr std::uint32_t kOnes = 0xffffffff;
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});  // digits of pi
}

TEST_CASE("random bits depend on the seed, the purpose and both counters, and on nothing else",
          "[core][S12]") {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
    for (const auto purpose : {Purpose::kShuffle, Purpose::kAugment, Purpose::kDropout}) {
      for (std::uint64_t a : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
        for (std::uint32_t b : {0u, 1u}) {
          seen.insert(random_bits(seed, purpose, a, b));
          CHECK(random_bits(seed, purpose, a, b) == random_bits(seed, purpose, a, b));
        }
      }
    }
  }
  CHECK(seen.size() == 3 * 3 * 3 * 2);
}

TEST_CASE("uniform numbers lie in [0, 1) with the right mean and variance", "[core]") {
  constexpr int kDraws = 100'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random_uniform(7, Purpose::kTest, static_cast<std::uint64_t>(i));
    REQUIRE(value >= 0);
    REQUIRE(value < 1);
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  CHECK(std::abs(mean - 0.5) < 0.005);  // five standard deviations
  CHECK(std::abs(squares / kDraws - mean * mean - 1.0 / 12) < 0.002);
}
