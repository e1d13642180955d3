// SPDX-License-Identifier: MIT
#include "checkpoint/image.hpp"

#include <numeric>

#include "core/digest.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;

TEST_CASE("gaps and taken ranges make up the file", "[checkpoint]") {
  CHECK(gaps_between({{5, 8}, {0, 2}, {2, 2}}, 10) == std::vector<Range>{{2, 5}, {8, 10}});
  CHECK(gaps_between({{0, 10}}, 10).empty());
  CHECK(gaps_between({}, 3) == std::vector<Range>{{0, 3}});
  CHECK_THROWS_AS(gaps_between({{0, 5}, {4, 6}}, 10), InternalError);
  CHECK_THROWS_AS(gaps_between({{8, 11}}, 10), InternalError);
}

TEST_CASE("blocks are cut every MiB", "[checkpoint]") {
  CHECK(block_range(0, 10) == Range{0, 10});
  CHECK(block_range(1, 3 * kDigestBlockBytes) == Range{kDigestBlockBytes, 2 * kDigestBlockBytes});
  CHECK(block_range(2, 2 * kDigestBlockBytes + 5) ==
        Range{2 * kDigestBlockBytes, 2 * kDigestBlockBytes + 5});
}

TEST_CASE("any range of an image has the bytes of the file", "[checkpoint]") {
  std::vector<std::byte> file(1000);
  for (std::size_t i = 0; i < file.size(); ++i)
    file[i] = static_cast<std::byte>(random_bits(1, Purpose::kTest, i));
  std::vector<Piece> pieces;
  for (std::int64_t at = 0; at < 1000;) {
    const auto size = std::min<std::int64_t>(
        1000 - at,
        static_cast<std::int64_t>(random_bits(2, Purpose::kTest, static_cast<std::uint64_t>(at)) %
                                  60));
    pieces.push_back(
        {at,
         std::span(file).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size))});
    at += size == 0 ? 0 : size;
    if (size == 0)
      pieces.push_back({at, std::span(file).subspan(static_cast<std::size_t>(at), 1)}), ++at;
  }
  std::reverse(pieces.begin(), pieces.end());
  const FileImage image(pieces, {0, 1000});
  std::vector<std::byte> scratch;
  for (std::int64_t begin = 0; begin < 1000; begin += 7) {
    for (std::int64_t end = begin + 1; end <= 1000; end += 31) {
      const auto found = image.bytes({begin, end}, scratch);
      REQUIRE(std::equal(found.begin(), found.end(), file.begin() + begin, file.begin() + end));
    }
  }
}

TEST_CASE("an image with a hole is a bug, not zeros", "[checkpoint]") {
  const std::vector<std::byte> bytes(10);
  CHECK_THROWS_AS(FileImage({{0, bytes}, {11, bytes}}, {0, 21}), InternalError);
  CHECK_THROWS_AS(FileImage({{0, bytes}, {9, bytes}}, {0, 19}), InternalError);
  CHECK_THROWS_AS(FileImage({{0, bytes}}, {0, 11}), InternalError);
  CHECK_NOTHROW(FileImage({}, {5, 5}));
}
