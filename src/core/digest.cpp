// SPDX-License-Identifier: MIT
#include "core/digest.hpp"

#include <xxhash.h>

#include <array>
#include <charconv>
#include <cstdio>

#include "core/error.hpp"
#include "core/text.hpp"

namespace lockstep {

std::uint64_t digest(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}
std::uint64_t digest(std::string_view text) { return digest(std::as_bytes(std::span(text))); }

struct DigestStream::State {
  XXH3_state_t* xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
};

DigestStream::DigestStream() : state_(std::make_unique<State>()) { XXH3_64bits_reset(state_->xxh); }
DigestStream::~DigestStream() = default;
DigestStream::DigestStream(DigestStream&&) noexcept = default;
DigestStream& DigestStream::operator=(DigestStream&&) noexcept = default;

DigestStream& DigestStream::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_->xxh, bytes.data(), bytes.size());
  return *this;
}
DigestStream& DigestStream::add(std::string_view text) {
  return add(std::as_bytes(std::span(text)));
}
std::uint64_t DigestStream::value() const { return XXH3_64bits_digest(state_->xxh); }

std::uint64_t digest_of_blocks(std::span<const std::uint64_t> blocks) {
  return digest(std::as_bytes(blocks));
}

std::string hex(std::uint64_t value) {
  std::array<char, 17> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%016llx", static_cast<unsigned long long>(value));
  return buffer.data();
}

std::uint64_t parse_hex(std::string_view text, std::string_view what) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 16 || error != std::errc() || end != text.data() + text.size()) {
    throw DataError(cat(what, ": '", text.substr(0, 40), "' is not a digest of 16 hex digits"));
  }
  return value;
}

}  // namespace lockstep
