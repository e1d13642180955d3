// SPDX-License-Identifier: MIT
// Between tensors and the typed spans that transports and files speak.
#pragma once

#include <torch/types.h>

#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// A tensor with the name under which people and files know it ("conv1.weight").
struct NamedTensor {
  std::string name;
  torch::Tensor tensor;
};

/// The storage of a non-overlapping dense CPU tensor as a span, in memory order (which is row-major
/// only for contiguous tensors). The tensor keeps the memory; the span must not outlive it. Throws
/// InternalError on another dtype or a gap.
template <class T>
std::span<T> span_of(const torch::Tensor& tensor);

extern template std::span<float> span_of<float>(const torch::Tensor&);
extern template std::span<double> span_of<double>(const torch::Tensor&);
extern template std::span<std::int64_t> span_of<std::int64_t>(const torch::Tensor&);

/// "[64, 1, 3, 3]"
std::string shape_text(torch::IntArrayRef shape);
/// "fp32", "int64", "bf16": the names that users type.
std::string dtype_text(torch::ScalarType type);

}  // namespace lockstep
