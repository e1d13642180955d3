// SPDX-License-Identifier: MIT
// Counter-based random numbers: a value is a pure function of (seed, purpose, counters), so that
// nothing depends on the rank, thread or order in which it is drawn, and there is no state to save.
// Philox-4x32-10: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>

namespace lockstep {

/// What a stream of random numbers is for; two purposes never share numbers.
enum class Purpose : std::uint32_t {
  kShuffle = 1,
  kAugment = 2,
  kDropout = 3,
  kInit = 4,
  kSynthetic = 5,
  kTest = 6
};

/// 128 random bits for a 128-bit counter under a 64-bit key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// 64 random bits keyed by (seed, purpose, a, b). `b` counts up to 2^32 - 1 draws.
std::uint64_t random_bits(std::uint64_t seed,
                          Purpose purpose,
                          std::uint64_t a,
                          std::uint32_t b = 0);

/// Uniform in [0, 1) with 53 bits, keyed like random_bits.
double random_uniform(std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint32_t b = 0);

}  // namespace lockstep
