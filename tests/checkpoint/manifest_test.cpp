// SPDX-License-Identifier: MIT
#include "checkpoint/manifest.hpp"

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;

namespace {

Manifest sample() {
  return {.step = 40,
          .bytes = (1 << 20) + 5,
          .blocks = {0x123, ~std::uint64_t{0}},
          .ranks = 3,
          .lockstep_version = "0.1.0",
          .torch_version = "2.15.0"};
}

}  // namespace

TEST_CASE("a manifest reads back", "[checkpoint]") {
  const auto found = parse_manifest(to_text(sample()), "m.json");
  CHECK(found.step == 40);
  CHECK(found.bytes == (1 << 20) + 5);
  CHECK(found.blocks == sample().blocks);
  CHECK(found.ranks == 3);
  CHECK(found.lockstep_version == "0.1.0");
  CHECK(found.torch_version == "2.15.0");
}

TEST_CASE("a later version is named", "[checkpoint]") {
  auto text = to_text(sample());
  text.replace(text.find("\"format_version\": 1"), 19, "\"format_version\": 2");
  CHECK_THROWS_WITH(parse_manifest(text, "m.json"),
                    Catch::Contains("m.json: format version 2; this program reads version 1"));
}

TEST_CASE("no change of a manifest's text goes unnoticed", "[checkpoint]") {
  const auto text = to_text(sample());
  const auto refused = [](const std::string& changed) {
    try {
      const auto found = parse_manifest(changed, "m.json");
      return to_text(found) == to_text(sample());  // white space, or a digit in upper case
    } catch (const DataError&) {
      return true;
    }
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    CHECK(refused(text.substr(0, at)));
    for (std::uint32_t bit = 0; bit < 8; ++bit) {
      auto changed = text;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      INFO(changed);
      CHECK(refused(changed));
    }
  }
  for (const char* bad : {"",
                          "{}",
                          "[]",
                          "null",
                          "{\"format\":1}",
                          "nonsense",
                          "{\"format\":\"lockstep checkpoint\",\"format_version\":1e300}"}) {
    CHECK_THROWS_AS(parse_manifest(bad, "m.json"), DataError);
  }
}
