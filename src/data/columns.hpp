// SPDX-License-Identifier: MIT
// What packing, checking and reading must agree on: how labels are stored and what a sample's
// digest covers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep::data {

/// True for the element types that labels may have: integers of any width.
bool is_label_type(const std::string& dtype);

/// Stored labels as int64. An unsigned value beyond int64 comes out negative, which no class is.
/// raw.size() is out.size() x the type's bytes.
void decode_labels(std::span<const std::byte> raw,
                   const std::string& dtype,
                   std::span<std::int64_t> out);

/// XXH3 over a sample's stored input bytes followed by its stored label bytes. `scratch` is reused
/// between calls.
std::uint64_t sample_digest(std::span<const std::byte> input,
                            std::span<const std::byte> label,
                            std::vector<std::byte>& scratch);

/// "[10, 1, 28, 28]"
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace lockstep::data
