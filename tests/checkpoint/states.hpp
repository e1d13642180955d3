// SPDX-License-Identifier: MIT
// States with everything that a checkpoint can hold, a pure function of a seed, and their
// comparison bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"

namespace lockstep::test {

/// Tensors of every type and of odd shapes and strides, some 5 MB, with random bits; scalars of
/// every kind.
checkpoint::State full_state(std::uint64_t seed);

/// A few small tensors: one block of a file.
checkpoint::State small_state(std::uint64_t seed);

/// The same names, types, shapes and strides, all zero; no scalars.
checkpoint::State blank_like(const checkpoint::State& state);

/// Names, types, shapes and bits of tensors and scalars.
bool same_bits(const checkpoint::State& a, const checkpoint::State& b);

/// The bytes of a file.
std::string bytes_of(const std::string& path);
void write_bytes(const std::string& path, const std::string& bytes);

/// Names in a folder, sorted.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace lockstep::test
