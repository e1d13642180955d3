// SPDX-License-Identifier: MIT
// The element types of tensors in checkpoints and their HDF5 types. Little-endian in every file.
#pragma once

#include <torch/types.h>

#include <optional>
#include <string>

#include "core/text.hpp"
#include "io/hdf5.hpp"

namespace lockstep::checkpoint {

/// HDF5 type of a tensor's elements in the file; invalid where checkpoints cannot hold the type.
/// fp16 and bf16 are float types of two bytes that h5dump prints; bool is a uint8, told apart by
/// the attribute kDtypeAttribute.
io::H5Id file_type(torch::ScalarType type);

/// The type that dtype_text() calls so; none for types that checkpoints cannot hold.
std::optional<torch::ScalarType> type_of_text(const std::string& text);

/// Attribute of every tensor's dataset, absent from scalars: the name of its type.
inline constexpr const char* kDtypeAttribute = "torch_dtype";

/// Scalars that say what a file is.
inline constexpr const char* kFormatName = "meta/format";
inline constexpr const char* kFormatVersionName = "meta/format_version";
inline constexpr const char* kFormatText = "lockstep checkpoint";

/// Fixed-length text of that many bytes, at least one.
io::H5Id text_type(std::size_t bytes);

/// HDF5's words for the innermost cause of the last failure.
std::string h5_reason();

/// Throws an E with path, object, the call that failed and HDF5's reason where a result is
/// negative.
template <class E, class Result>
Result h5_check(Result result, const char* call, const std::string& where) {
  if (result < 0) throw E(cat(where, ": ", call, " failed: ", h5_reason()));
  return result;
}

}  // namespace lockstep::checkpoint
