// SPDX-License-Identifier: MIT
#include "data/columns.hpp"

#include <cstring>

#include "core/check.hpp"
#include "core/digest.hpp"
#include "core/text.hpp"

namespace lockstep::data {
namespace {

template <class Stored>
void widen(std::span<const std::byte> raw, std::span<std::int64_t> out) {
  LOCKSTEP_ASSERT(raw.size() == out.size() * sizeof(Stored),
                  raw.size(),
                  " bytes for ",
                  out.size(),
                  " labels");
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored value;
    std::memcpy(&value, raw.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = static_cast<std::int64_t>(value);
  }
}

using Decoder = void (*)(std::span<const std::byte>, std::span<std::int64_t>);

Decoder decoder_of(const std::string& dtype) {
  if (dtype == "int64") return widen<std::int64_t>;
  if (dtype == "uint8") return widen<std::uint8_t>;
  if (dtype == "int32") return widen<std::int32_t>;
  if (dtype == "int8") return widen<std::int8_t>;
  if (dtype == "uint16") return widen<std::uint16_t>;
  if (dtype == "int16") return widen<std::int16_t>;
  if (dtype == "uint32") return widen<std::uint32_t>;
  if (dtype == "uint64") return widen<std::uint64_t>;
  return nullptr;
}

}  // namespace

bool is_label_type(const std::string& dtype) { return decoder_of(dtype) != nullptr; }

void decode_labels(std::span<const std::byte> raw,
                   const std::string& dtype,
                   std::span<std::int64_t> out) {
  const auto decoder = decoder_of(dtype);
  LOCKSTEP_ASSERT(decoder != nullptr, "labels of type ", dtype);
  decoder(raw, out);
}

std::uint64_t sample_digest(std::span<const std::byte> input,
                            std::span<const std::byte> label,
                            std::vector<std::byte>& scratch) {
  scratch.resize(input.size() + label.size());
  std::memcpy(scratch.data(), input.data(), input.size());
  std::memcpy(scratch.data() + input.size(), label.data(), label.size());
  return digest(scratch);
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += cat(i == 0 ? "" : ", ", shape[i]);
  return out + "]";
}

}  // namespace lockstep::data
