// SPDX-License-Identifier: MIT
#include "checkpoint/types.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "tensor/bridge.hpp"

namespace lockstep::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are written as they lie in memory");

constexpr std::array kTypes = {torch::kFloat32,
                               torch::kFloat64,
                               torch::kBFloat16,
                               torch::kFloat16,
                               torch::kInt64,
                               torch::kInt32,
                               torch::kUInt8,
                               torch::kBool};

// A float of two bytes: sign, exponent, mantissa from the top.
io::H5Id half_type(std::size_t exponent_bits, std::size_t mantissa_bits, std::size_t bias) {
  io::H5Id type(H5Tcopy(H5T_IEEE_F32LE));
  H5Tset_fields(type.get(), 15, mantissa_bits, exponent_bits, 0, mantissa_bits);
  H5Tset_size(type.get(), 2);
  H5Tset_ebias(type.get(), bias);
  return type;
}

}  // namespace

io::H5Id file_type(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat32:
      return io::H5Id(H5Tcopy(H5T_IEEE_F32LE));
    case torch::kFloat64:
      return io::H5Id(H5Tcopy(H5T_IEEE_F64LE));
    case torch::kBFloat16:
      return half_type(8, 7, 127);
    case torch::kFloat16:
      return half_type(5, 10, 15);
    case torch::kInt64:
      return io::H5Id(H5Tcopy(H5T_STD_I64LE));
    case torch::kInt32:
      return io::H5Id(H5Tcopy(H5T_STD_I32LE));
    case torch::kUInt8:
    case torch::kBool:
      return io::H5Id(H5Tcopy(H5T_STD_U8LE));
    default:
      return {};
  }
}

std::optional<torch::ScalarType> type_of_text(const std::string& text) {
  const auto it = std::find_if(kTypes.begin(), kTypes.end(), [&](auto type) {
    return dtype_text(type) == text;
  });
  return it == kTypes.end() ? std::nullopt : std::optional(*it);
}

io::H5Id text_type(std::size_t bytes) {
  io::H5Id type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), std::max<std::size_t>(1, bytes));
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

std::string h5_reason() {
  std::string text;
  const auto innermost = [](unsigned, const H5E_error2_t* entry, void* out) -> herr_t {
    *static_cast<std::string*>(out) = entry->desc;
    return 1;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &text);
  H5Eclear2(H5E_DEFAULT);
  return text.empty() ? "HDF5 gave no reason" : text;
}

}  // namespace lockstep::checkpoint
