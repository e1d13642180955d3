// SPDX-License-Identifier: MIT
#include "core/random.hpp"

namespace lockstep {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMul0 = 0xD2511F53, kMul1 = 0xCD9E8D57;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMul0 * counter[0];
    const std::uint64_t p1 = kMul1 * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9;  // golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

std::uint64_t random_bits(std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint32_t b) {
  const auto out =
      philox({static_cast<std::uint32_t>(a),
              static_cast<std::uint32_t>(a >> 32),
              b,
              static_cast<std::uint32_t>(purpose)},
             {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return (static_cast<std::uint64_t>(out[1]) << 32) | out[0];
}

double random_uniform(std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint32_t b) {
  return static_cast<double>(random_bits(seed, purpose, a, b) >> 11) * 0x1p-53;
}

}  // namespace lockstep
