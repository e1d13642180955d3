// SPDX-License-Identifier: MIT
// 64-bit XXH3 digests: one value, a stream, and the block digest of files. A file's digest is taken
// over fixed 1 MiB blocks and then over the list of block digests, so that any number of ranks can
// compute it together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

inline constexpr std::int64_t kDigestBlockBytes = 1 << 20;

std::uint64_t digest(std::span<const std::byte> bytes);
std::uint64_t digest(std::string_view text);

/// A digest fed piece by piece.
class DigestStream {
 public:
  DigestStream();
  ~DigestStream();
  DigestStream(DigestStream&&) noexcept;
  DigestStream& operator=(DigestStream&&) noexcept;
  DigestStream& add(std::span<const std::byte> bytes);
  DigestStream& add(std::string_view text);
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Digest over the digests of a file's blocks, in order.
std::uint64_t digest_of_blocks(std::span<const std::uint64_t> blocks);

/// 16 lower-case hex digits, as digests appear in files and messages.
std::string hex(std::uint64_t value);

/// The value of 16 hex digits; anything else throws DataError naming `what`.
std::uint64_t parse_hex(std::string_view text, std::string_view what);

}  // namespace lockstep
