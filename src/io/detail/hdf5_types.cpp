// SPDX-License-Identifier: MIT
#include "io/detail/hdf5_types.hpp"

#include <array>

#include "core/text.hpp"

namespace lockstep::io {
namespace {

struct TypeRow {
  H5Type type;
  const char* name;
  std::int64_t bytes;
};
constexpr std::array<TypeRow, 10> kTypes = {{{H5Type::kUInt8, "uint8", 1},
                                             {H5Type::kInt8, "int8", 1},
                                             {H5Type::kUInt16, "uint16", 2},
                                             {H5Type::kInt16, "int16", 2},
                                             {H5Type::kUInt32, "uint32", 4},
                                             {H5Type::kInt32, "int32", 4},
                                             {H5Type::kUInt64, "uint64", 8},
                                             {H5Type::kInt64, "int64", 8},
                                             {H5Type::kFloat32, "float32", 4},
                                             {H5Type::kFloat64, "float64", 8}}};

std::string class_name(H5T_class_t type_class) {
  switch (type_class) {
    case H5T_TIME:
      return "time";
    case H5T_STRING:
      return "string";
    case H5T_BITFIELD:
      return "bitfield";
    case H5T_OPAQUE:
      return "opaque";
    case H5T_COMPOUND:
      return "compound";
    case H5T_REFERENCE:
      return "reference";
    case H5T_ENUM:
      return "enum";
    case H5T_VLEN:
      return "variable-length";
    case H5T_ARRAY:
      return "array";
    default:
      return "unknown type";
  }
}

}  // namespace

const char* h5_type_name(H5Type type) { return kTypes[static_cast<std::size_t>(type)].name; }
std::int64_t h5_type_bytes(H5Type type) { return kTypes[static_cast<std::size_t>(type)].bytes; }
std::optional<H5Type> h5_type_of_name(const std::string& name) {
  for (const auto& row : kTypes) {
    if (name == row.name) return row.type;
  }
  return std::nullopt;
}

namespace detail {

hid_t native_type(H5Type type) {
  switch (type) {
    case H5Type::kUInt8:
      return H5T_NATIVE_UINT8;
    case H5Type::kInt8:
      return H5T_NATIVE_INT8;
    case H5Type::kUInt16:
      return H5T_NATIVE_UINT16;
    case H5Type::kInt16:
      return H5T_NATIVE_INT16;
    case H5Type::kUInt32:
      return H5T_NATIVE_UINT32;
    case H5Type::kInt32:
      return H5T_NATIVE_INT32;
    case H5Type::kUInt64:
      return H5T_NATIVE_UINT64;
    case H5Type::kInt64:
      return H5T_NATIVE_INT64;
    case H5Type::kFloat32:
      return H5T_NATIVE_FLOAT;
    case H5Type::kFloat64:
      return H5T_NATIVE_DOUBLE;
  }
  return H5I_INVALID_HID;
}

std::optional<H5Type> native_of(hid_t type) {
  for (const auto& row : kTypes) {
    if (H5Tequal(type, native_type(row.type)) > 0) return row.type;
  }
  return std::nullopt;
}

std::string type_text(hid_t type) {
  if (const auto native = native_of(type)) return h5_type_name(*native);
  const auto type_class = H5Tget_class(type);
  if (type_class != H5T_INTEGER && type_class != H5T_FLOAT) return class_name(type_class);
  const auto bits = 8 * H5Tget_size(type);
  const bool is_unsigned = type_class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE;
  const char* order = H5Tget_order(type) == H5T_ORDER_BE   ? " big-endian"
                      : H5Tget_order(type) == H5T_ORDER_LE ? " little-endian"
                                                           : " of unusual byte order";
  return cat(is_unsigned ? "u" : "", type_class == H5T_FLOAT ? "float" : "int", bits, order);
}

}  // namespace detail
}  // namespace lockstep::io
