// SPDX-License-Identifier: MIT
#include "core/digest.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;

namespace {
std::vector<std::byte> some_bytes(std::size_t n) {
  std::vector<std::byte> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>(i * 131 + i / 256);
  return out;
}
}  // namespace

TEST_CASE("the digest is XXH3 with 64 bits", "[core]") {
  CHECK(hex(digest(std::string_view())) ==
        "2d06800538d394c2");  // the library's own value for no bytes
}

TEST_CASE("a digest fed in pieces of any size equals the digest in one go", "[core]") {
  for (const std::size_t size : {0, 1, 3, 255, 256, 257, 5000}) {
    const auto bytes = some_bytes(size);
    const auto whole = digest(std::span<const std::byte>(bytes));
    for (const std::size_t piece : {1, 7, 240, 1024}) {
      CAPTURE(size, piece);
      DigestStream stream;
      for (std::size_t at = 0; at < size; at += piece) {
        stream.add(std::span<const std::byte>(bytes).subspan(at, std::min(piece, size - at)));
      }
      CHECK(stream.value() == whole);
    }
  }
}

TEST_CASE("one changed bit, one byte more and another order of blocks change the digest",
          "[core]") {
  auto bytes = some_bytes(1000);
  const auto before = digest(std::span<const std::byte>(bytes));
  bytes[999] ^= std::byte{1};
  CHECK(digest(std::span<const std::byte>(bytes)) != before);
  bytes[999] ^= std::byte{1};
  CHECK(digest(std::span<const std::byte>(bytes)) == before);
  bytes.push_back(std::byte{0});
  CHECK(digest(std::span<const std::byte>(bytes)) != before);
  const std::uint64_t ab[] = {1, 2}, ba[] = {2, 1};
  CHECK(digest_of_blocks(ab) != digest_of_blocks(ba));
}

TEST_CASE("a digest survives its way through hex digits", "[core]") {
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x0123456789abcdef}, ~std::uint64_t{0}}) {
    CHECK(hex(value).size() == 16);
    CHECK(parse_hex(hex(value), "test") == value);
  }
  CHECK(hex(0xabc) == "0000000000000abc");
}

TEST_CASE("what is no digest is refused with its name and text", "[core]") {
  for (const std::string wrong : {"",
                                  "abc",
                                  "0123456789abcdeg",
                                  "0x23456789abcdef",
                                  "0123456789abcdef0",
                                  " 123456789abcdef"}) {
    CAPTURE(wrong);
    try {
      parse_hex(wrong, "index.json: shard 3");
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kBadData);
      CHECK(std::string(error.what()).find("index.json: shard 3") == 0);
      CHECK(std::string(error.what()).find("'" + wrong + "'") != std::string::npos);
    }
  }
}
