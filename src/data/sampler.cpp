// SPDX-License-Identifier: MIT
#include "data/sampler.hpp"

#include <algorithm>
#include <bit>

#include "core/check.hpp"
#include "core/error.hpp"
#include "core/random.hpp"

namespace lockstep::data {
namespace {

constexpr std::int64_t kRun = 64;  // consecutive samples that block shuffling moves together
constexpr std::int64_t kGroup = 16 * kRun;  // samples that it mixes
// Rounds after which pairs of neighbours are as frequent as chance has it (counted over 200 000
// keys). Halves of one or two bits need more of them.
constexpr int rounds_for(int bits) { return bits < 6 ? 24 : 8; }

// `bits` well-mixed bits of a value under a round's key: two multiplications, as in the finalizers
// of hash functions.
std::uint64_t mix(std::uint64_t value, std::uint64_t key, int bits) {
  std::uint64_t z = (value ^ key) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 32)) * 0x94D049BB133111EB;
  return z >> (64 - bits);
}

std::uint64_t epoch_key(std::uint64_t seed, std::int64_t epoch, std::uint32_t stream) {
  return random_bits(seed, Purpose::kShuffle, static_cast<std::uint64_t>(epoch), stream);
}

// The order of block shuffling in one epoch.
class BlockOrder {
 public:
  BlockOrder(std::int64_t samples, std::uint64_t seed, std::int64_t epoch)
      : samples_(samples),
        seed_(seed),
        epoch_(epoch),
        full_runs_(samples / kRun),
        runs_(std::max<std::int64_t>(1, full_runs_), epoch_key(seed, epoch, 0)),
        rotation_(static_cast<std::int64_t>(epoch_key(seed, epoch, 1) %
                                            static_cast<std::uint64_t>(samples))),
        inside_(1, 0) {}

  std::int64_t operator()(std::int64_t position) {
    const auto group = position / kGroup;
    if (group != group_) enter(group);
    const auto slot = group * kGroup + inside_(position % kGroup);
    const auto run = slot / kRun;
    // The short run at the end stays there; the rotation gives every sample its turn in it.
    const auto place = run < full_runs_ ? runs_(run) * kRun + slot % kRun : slot;
    return place + rotation_ < samples_ ? place + rotation_ : place + rotation_ - samples_;
  }

 private:
  void enter(std::int64_t group) {
    group_ = group;
    inside_ = Permutation(std::min(kGroup, samples_ - group * kGroup),
                          epoch_key(seed_, epoch_, static_cast<std::uint32_t>(group + 2)));
  }

  std::int64_t samples_;
  std::uint64_t seed_;
  std::int64_t epoch_;
  std::int64_t full_runs_;
  Permutation runs_;
  std::int64_t rotation_;
  Permutation inside_;
  std::int64_t group_ = -1;
};

}  // namespace

Permutation::Permutation(std::int64_t n, std::uint64_t key) : n_(n), key_(key) {
  LOCKSTEP_ASSERT(n >= 1, "n ", n);
  const int bits = std::max(2, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1))));
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
}

std::int64_t Permutation::operator()(std::int64_t position) const {
  LOCKSTEP_ASSERT(position >= 0 && position < n_, "position ", position, " of ", n_);
  const int rounds = rounds_for(low_bits_ + high_bits_);
  const std::uint64_t low_mask = (std::uint64_t{1} << low_bits_) - 1;
  auto value = static_cast<std::uint64_t>(position);
  do {
    std::uint64_t low = value & low_mask;
    std::uint64_t high = value >> low_bits_;
    std::uint64_t key = key_;
    for (int round = 0; round < rounds; round += 2) {
      low ^= mix(high, key, low_bits_);
      high ^= mix(low, key + 0x9E3779B97F4A7C15, high_bits_);
      key += 2 * 0x9E3779B97F4A7C15;
    }
    value = (high << low_bits_) | low;
  } while (value >= static_cast<std::uint64_t>(n_));
  return static_cast<std::int64_t>(value);
}

Sampler::Sampler(Config config) : config_(config) {
  if (config_.samples < 1)
    throw ConfigError(cat("the data set has ", config_.samples, " samples; at least 1 is needed"));
  if (config_.batch_size < 1)
    throw ConfigError(cat("batch-size is ", config_.batch_size, "; at least 1 is needed"));
  if (config_.tail == Tail::kDrop && config_.samples < config_.batch_size) {
    throw ConfigError(cat("the data set has ",
                          config_.samples,
                          " samples and a step takes ",
                          config_.batch_size,
                          ": with --tail drop no step would be left; take --batch-size ",
                          config_.samples,
                          " or less, or --tail keep"));
  }
}

std::int64_t Sampler::steps_per_epoch() const {
  return config_.tail == Tail::kDrop ? config_.samples / config_.batch_size
                                     : ceil_div(config_.samples, config_.batch_size);
}

Window Sampler::window(Position at) const {
  LOCKSTEP_ASSERT(at.epoch >= 0 && at.consumed >= 0, "epoch ", at.epoch, " consumed ", at.consumed);
  const std::int64_t needed =
      config_.tail == Tail::kDrop ? config_.batch_size : 1;  // samples left for another step
  const auto over = [&](std::int64_t consumed) { return consumed > config_.samples - needed; };
  if (over(at.consumed)) at = {at.epoch + 1, 0};
  std::int64_t end = at.consumed + config_.batch_size;
  if (config_.tail == Tail::kKeep) end = std::min(end, config_.samples);
  const bool ends_epoch = over(end);
  return {.epoch = at.epoch,
          .positions = {at.consumed, end},
          .next = ends_epoch ? Position{at.epoch + 1, 0} : Position{at.epoch, end},
          .ends_epoch = ends_epoch};
}

std::vector<std::int64_t> Sampler::ids(std::int64_t epoch, Range positions) const {
  std::vector<std::int64_t> out(
      static_cast<std::size_t>(std::max<std::int64_t>(0, positions.size())));
  const auto fill = [&](auto&& id_at) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::int64_t position = positions.begin + static_cast<std::int64_t>(i);
      if (position >= config_.samples) position %= config_.samples;
      out[i] = id_at(position);
    }
  };
  switch (config_.shuffle) {
    case Shuffle::kFull:
      fill(Permutation(config_.samples, epoch_key(config_.seed, epoch, 0)));
      break;
    case Shuffle::kBlock:
      fill(BlockOrder(config_.samples, config_.seed, epoch));
      break;
    case Shuffle::kNone:
      fill([](std::int64_t position) { return position; });
      break;
  }
  return out;
}

Range share_of(Range positions, const Share& share) {
  LOCKSTEP_ASSERT(share.count >= 1 && share.first >= 0 && share.first + share.count <= share.parts,
                  "parts ",
                  share.parts,
                  " first ",
                  share.first,
                  " count ",
                  share.count);
  const auto total = positions.size();
  return {positions.begin + part_of(total, share.parts, share.first).begin,
          positions.begin + part_of(total, share.parts, share.first + share.count - 1).end};
}

}  // namespace lockstep::data
