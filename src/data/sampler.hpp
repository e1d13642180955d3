// SPDX-License-Identifier: MIT
// Which samples a step uses: a pure function of (seed, epoch, position). Nothing depends on the
// number of ranks, and the only state is a Position, so a run can be resumed at any step on any
// number of ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/partition.hpp"

namespace lockstep::data {

/// A seeded permutation of [0, n) in O(1) memory: a Feistel network with unequal halves over the
/// next power of two, walked until the value falls inside: fewer than two rounds on average (J.
/// Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002).
class Permutation {
 public:
  Permutation(std::int64_t n, std::uint64_t key);
  std::int64_t operator()(std::int64_t position) const;

 private:
  std::int64_t n_;
  int low_bits_;  ///< the halves' widths; low_bits_ + high_bits_ >= 2
  int high_bits_;
  std::uint64_t key_;
};

/// Where a run stands in its data: `consumed` samples of `epoch` are used up.
struct Position {
  std::int64_t epoch = 0;
  std::int64_t consumed = 0;
  friend bool operator==(const Position&, const Position&) = default;
};

/// The positions of one step inside its epoch, and where the run stands after it.
struct Window {
  std::int64_t epoch = 0;
  Range positions;  ///< into the epoch's order; may run past the end with tail "wrap" (positions
                    ///< are taken modulo n)
  Position next;
  bool ends_epoch = false;
};

/// kBlock keeps reads local: runs of 64 consecutive samples are put into a random order, 16 runs at
/// a time form a group of 1024 positions, and the samples of a group are mixed. A step so reads
/// from 16 places of the set (32 where it crosses into the next group), and a sample meets those of
/// 15 other runs. Where runs begin changes from epoch to epoch.
enum class Shuffle { kFull, kBlock, kNone };
enum class Tail {
  kKeep,  ///< the last, shorter window of an epoch is a step of its own, weighted by its true size
  kDrop,  ///< it is left out
  kWrap,  ///< it is filled up from the start of the same epoch's order
};

class Sampler {
 public:
  struct Config {
    std::int64_t samples = 0;
    std::int64_t batch_size = 1;  ///< samples of one step over all ranks
    std::uint64_t seed = 0;
    Shuffle shuffle = Shuffle::kFull;
    Tail tail = Tail::kKeep;
  };
  /// Throws ConfigError where there is nothing to do: no samples, or fewer than a batch with
  /// Tail::kDrop.
  explicit Sampler(Config config);

  const Config& config() const { return config_; }
  std::int64_t steps_per_epoch() const;
  /// The window of the step that starts here. A position at or past the last full window rolls over
  /// to the next epoch.
  Window window(Position at) const;
  /// Sample ids of positions [begin, end) of an epoch, in order.
  std::vector<std::int64_t> ids(std::int64_t epoch, Range positions) const;

 private:
  Config config_;
};

/// The share of a step that one rank loads: parts [first, first + count) of `parts` nearly equal
/// parts of its window. Rank r of R takes {R, r, 1}; in exact mode with V slots {V, r * V / R, V /
/// R}.
struct Share {
  std::int64_t parts = 1;
  std::int64_t first = 0;
  std::int64_t count = 1;
};

/// That share of a window's positions.
Range share_of(Range positions, const Share& share);

}  // namespace lockstep::data
