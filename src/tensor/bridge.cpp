// SPDX-License-Identifier: MIT
#include "tensor/bridge.hpp"

#include "core/check.hpp"

namespace lockstep {

template <class T>
std::span<T> span_of(const torch::Tensor& tensor) {
  LOCKSTEP_ASSERT(tensor.device().is_cpu() && tensor.is_non_overlapping_and_dense(),
                  "tensor of shape ",
                  shape_text(tensor.sizes()));
  return {tensor.data_ptr<T>(), static_cast<std::size_t>(tensor.numel())};
}

template std::span<float> span_of<float>(const torch::Tensor&);
template std::span<double> span_of<double>(const torch::Tensor&);
template std::span<std::int64_t> span_of<std::int64_t>(const torch::Tensor&);

std::string shape_text(torch::IntArrayRef shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += cat(i == 0 ? "" : ", ", shape[i]);
  return out + "]";
}

std::string dtype_text(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat32:
      return "fp32";
    case torch::kFloat64:
      return "fp64";
    case torch::kFloat16:
      return "fp16";
    case torch::kBFloat16:
      return "bf16";
    case torch::kInt64:
      return "int64";
    case torch::kInt32:
      return "int32";
    case torch::kUInt8:
      return "uint8";
    case torch::kBool:
      return "bool";
    default:
      return torch::toString(type);
  }
}

}  // namespace lockstep
