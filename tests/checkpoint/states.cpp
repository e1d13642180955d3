// SPDX-License-Identifier: MIT
#include "states.hpp"

#include <torch/types.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "core/random.hpp"

namespace lockstep::test {
namespace {

using checkpoint::Scalar;
using checkpoint::State;

void fill(torch::Tensor& tensor, std::uint64_t seed, std::uint64_t index) {
  auto* bytes = static_cast<std::uint8_t*>(tensor.data_ptr());
  const auto count =
      static_cast<std::size_t>(tensor.numel()) * static_cast<std::size_t>(tensor.element_size());
  for (std::size_t i = 0; i < count; i += 8) {
    const auto bits = random_bits(seed, Purpose::kTest, (index << 40) + i);
    std::memcpy(bytes + i, &bits, std::min<std::size_t>(8, count - i));
  }
  if (tensor.scalar_type() == torch::kBool) {
    for (std::size_t i = 0; i < count; ++i) bytes[i] &= 1;
  }
}

void add(State& state, std::uint64_t seed, const std::string& name, torch::Tensor tensor) {
  fill(tensor, seed, state.tensors.size());
  state.tensors.push_back({name, tensor});
}

// Signalling and quiet NaNs with payloads, both zeros, denormals, infinities.
torch::Tensor odd_floats() {
  const std::vector<std::uint32_t> bits =
      {0x7fc00000, 0x7fa12345, 0xffc54321, 0x80000000, 0, 1, 0x807fffff, 0x7f800000, 0xff800000};
  auto tensor = torch::empty({static_cast<std::int64_t>(bits.size())}, torch::kFloat32);
  std::memcpy(tensor.data_ptr(), bits.data(), 4 * bits.size());
  return tensor;
}

std::uint64_t bits_of(const Scalar& value) {
  return std::bit_cast<std::uint64_t>(std::get<double>(value));
}

bool same(const Scalar& a, const Scalar& b) {
  if (a.index() != b.index()) return false;
  return std::holds_alternative<double>(a) ? bits_of(a) == bits_of(b) : a == b;
}

bool same(const torch::Tensor& a, const torch::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const auto x = a.contiguous(), y = b.contiguous();
  return x.numel() == 0 || std::memcmp(x.data_ptr(),
                                       y.data_ptr(),
                                       static_cast<std::size_t>(x.numel()) *
                                           static_cast<std::size_t>(x.element_size())) == 0;
}

}  // namespace

State full_state(std::uint64_t seed) {
  State state;
  const auto f32 = torch::kFloat32;
  add(state,
      seed,
      "optim/conv1.weight/exp_avg",
      torch::empty({64, 3, 7, 7}, f32).contiguous(torch::MemoryFormat::ChannelsLast));
  add(state,
      seed,
      "model/conv1.weight",
      torch::empty({64, 3, 7, 7}, f32).contiguous(torch::MemoryFormat::ChannelsLast));
  add(state, seed, "model/fc.weight", torch::empty({601, 1001}, f32));
  add(state, seed, "optim/fc.weight/exp_avg", torch::empty({601, 1001}, f32));
  add(state, seed, "model/transposed", torch::empty({17, 5}, torch::kFloat64).t());
  add(state, seed, "model/bf16", torch::empty({33, 2}, torch::kBFloat16));
  add(state, seed, "model/fp16", torch::empty({7}, torch::kFloat16));
  add(state, seed, "model/int32", torch::empty({3, 1, 2}, torch::kInt32));
  add(state, seed, "model/bytes", torch::empty({100001}, torch::kUInt8));
  add(state, seed, "model/mask", torch::empty({13}, torch::kBool));
  add(state, seed, "model/bn.num_batches_tracked", torch::empty({}, torch::kInt64));
  add(state, seed, "model/one", torch::empty({1}, f32));
  add(state, seed, "model/three", torch::empty({3}, f32));
  add(state, seed, "model/empty", torch::empty({0, 5}, f32));
  state.tensors.push_back({"model/odd", odd_floats()});
  state.scalars = {{"counters/step", static_cast<std::int64_t>(seed)},
                   {"counters/min", std::numeric_limits<std::int64_t>::min()},
                   {"best/nan", std::numeric_limits<double>::quiet_NaN()},
                   {"best/infinite", -std::numeric_limits<double>::infinity()},
                   {"best/zero", -0.0},
                   {"meta/model", std::string("cnn")},
                   {"meta/empty", std::string()},
                   {"meta/long", std::string(70000, 'x')},
                   {"meta/utf8",
                    std::string("Gr\xc3\xbc\xc3\x9f"
                                "e")}};
  return state;
}

State small_state(std::uint64_t seed) {
  State state;
  add(state, seed, "model/one", torch::empty({1}, torch::kFloat32));
  add(state, seed, "model/three", torch::empty({3}, torch::kFloat32));
  add(state, seed, "model/weight", torch::empty({64, 32}, torch::kFloat32));
  state.scalars = {{"counters/step", static_cast<std::int64_t>(seed)}};
  return state;
}

State blank_like(const State& state) {
  State out;
  for (const auto& [name, tensor] : state.tensors)
    out.tensors.push_back({name, torch::zeros_like(tensor)});
  return out;
}

bool same_bits(const State& a, const State& b) {
  const auto same_tensor = [](const NamedTensor& x, const NamedTensor& y) {
    return x.name == y.name && same(x.tensor, y.tensor);
  };
  const auto same_scalar = [](const auto& x, const auto& y) {
    return x.first == y.first && same(x.second, y.second);
  };
  return std::equal(a.tensors.begin(),
                    a.tensors.end(),
                    b.tensors.begin(),
                    b.tensors.end(),
                    same_tensor) &&
         std::equal(a.scalars.begin(),
                    a.scalars.end(),
                    b.scalars.begin(),
                    b.scalars.end(),
                    same_scalar);
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace lockstep::test
