// SPDX-License-Identifier: MIT
// The order of samples: a permutation in every epoch, free of rank count, resumable anywhere.
#include "data/sampler.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_set>

#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

namespace lockstep::data {
namespace {

using Ids = std::vector<std::int64_t>;

bool is_permutation_of_all(Ids ids, std::int64_t n) {
  Ids all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  std::sort(ids.begin(), ids.end());
  return ids == all;
}

Ids epoch_ids(const Sampler& sampler, std::int64_t epoch) {
  return sampler.ids(epoch, {0, sampler.config().samples});
}

// Ids of `windows` steps from a position, each step joined over the shares of `ranks` ranks.
Ids walk(const Sampler& sampler, Position& at, int windows, std::int64_t ranks = 1) {
  Ids out;
  for (int i = 0; i < windows; ++i) {
    const auto window = sampler.window(at);
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const auto part = sampler.ids(window.epoch, share_of(window.positions, {ranks, rank, 1}));
      out.insert(out.end(), part.begin(), part.end());
    }
    at = window.next;
  }
  return out;
}

Sampler sampler_of(std::int64_t samples,
                   std::int64_t batch,
                   std::uint64_t seed = 1,
                   Shuffle shuffle = Shuffle::kFull,
                   Tail tail = Tail::kKeep) {
  return Sampler(
      {.samples = samples, .batch_size = batch, .seed = seed, .shuffle = shuffle, .tail = tail});
}

}  // namespace

TEST_CASE("A permutation hits every value once for every size up to 3000", "[data]") {
  for (std::int64_t n = 1; n <= 3000; ++n) {
    const Permutation permutation(n, 0x1234567 + static_cast<std::uint64_t>(n));
    std::vector<char> hit(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) ++hit[static_cast<std::size_t>(permutation(i))];
    if (!std::all_of(hit.begin(), hit.end(), [](char count) { return count == 1; }))
      FAIL("size " << n);
  }
}

TEST_CASE("A permutation of a large size stays in range and never repeats", "[data]") {
  for (const std::int64_t n : {std::int64_t{99991},
                               (std::int64_t{1} << 31) + 11,
                               std::int64_t{1000000000039},
                               (std::int64_t{1} << 62) + 1}) {
    const Permutation permutation(n, 42);
    std::unordered_set<std::int64_t> seen;
    bool in_range = true;
    constexpr std::int64_t kProbes = 50000;
    for (std::int64_t i = 0; i < kProbes; ++i) {
      const auto value = permutation(i % 2 == 0 ? i / 2 : n - 1 - i / 2);
      in_range = in_range && value >= 0 && value < n;
      seen.insert(value);
    }
    CHECK(in_range);
    CHECK(seen.size() == kProbes);
  }
}

TEST_CASE("Every sample comes equally often at every position, and next to every other", "[data]") {
  constexpr std::int64_t kSamples = 10, kEpochs = 20000;
  const auto sampler = sampler_of(kSamples, 4);
  std::vector<std::int64_t> first(kSamples), pairs(kSamples * kSamples);
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const auto ids = sampler.ids(epoch, {0, 2});
    ++first[static_cast<std::size_t>(ids[0])];
    ++pairs[static_cast<std::size_t>(ids[0] * kSamples + ids[1])];
  }
  // Five standard deviations of a binomial count.
  for (const auto count : first) CHECK(std::abs(count - kEpochs / 10) < 212);
  for (std::int64_t pair = 0; pair < kSamples * kSamples; ++pair) {
    const auto expected = pair / kSamples == pair % kSamples ? 0 : kEpochs / 90;
    CHECK(std::abs(pairs[static_cast<std::size_t>(pair)] - expected) <= (expected == 0 ? 0 : 75));
  }
}

TEST_CASE("The order of a seed never changes between versions", "[data]") {
  CHECK(sampler_of(1000, 8, 7).ids(0, {0, 6}) == Ids{134, 163, 639, 644, 340, 94});
  CHECK(sampler_of(1000, 8, 7).ids(3, {0, 6}) == Ids{779, 170, 369, 53, 379, 35});
  CHECK(sampler_of(5000, 8, 7, Shuffle::kBlock).ids(1, {0, 6}) ==
        Ids{1522, 4754, 3383, 4790, 4410, 1545});
}

TEST_CASE("Epochs differ from each other, and repeat when run again", "[data][S01]") {
  const auto sampler = sampler_of(16, 4, 7);
  std::set<Ids> orders;
  for (std::int64_t epoch = 0; epoch < 50; ++epoch) {
    const auto ids = epoch_ids(sampler, epoch);
    CHECK(is_permutation_of_all(ids, 16));
    CHECK(ids == epoch_ids(sampler_of(16, 8, 7), epoch));
    orders.insert(ids);
  }
  CHECK(orders.size() == 50);
  const auto plain = sampler_of(16, 4, 7, Shuffle::kNone);
  CHECK(epoch_ids(plain, 0) == epoch_ids(plain, 2));
  CHECK(plain.ids(1, {2, 6}) == Ids{2, 3, 4, 5});
}

TEST_CASE("The seed reaches the order", "[data][S12]") {
  CHECK(epoch_ids(sampler_of(64, 4, 1), 0) == epoch_ids(sampler_of(64, 4, 1), 0));
  std::set<Ids> orders;
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    orders.insert(epoch_ids(sampler_of(64, 4, seed), 0));
  orders.insert(epoch_ids(sampler_of(64, 4, std::uint64_t{1} << 40), 0));
  CHECK(orders.size() == 51);
}

TEST_CASE("A step takes the same samples on any number of ranks", "[data][S09]") {
  for (const auto shuffle : {Shuffle::kFull, Shuffle::kBlock, Shuffle::kNone}) {
    const auto sampler = sampler_of(101, 13, 3, shuffle);
    Position alone;
    const auto expected = walk(sampler, alone, 20);
    for (const std::int64_t ranks : {2, 3, 4, 5, 8, 16}) {
      Position at;
      CHECK(walk(sampler, at, 20, ranks) == expected);
      CHECK(at == alone);
    }
  }
}

TEST_CASE("A run that is resumed at any step, on other ranks, goes on with the same samples",
          "[data][S06][S07][S09]") {
  for (const auto tail : {Tail::kKeep, Tail::kDrop, Tail::kWrap}) {
    const auto sampler = sampler_of(64, 10, 3, Shuffle::kFull, tail);
    Position end;
    const auto straight = walk(sampler, end, 25);
    for (int stop = 0; stop <= 25; ++stop) {
      Position at;
      auto ids = walk(sampler, at, stop, 4);
      const Position saved{at.epoch, at.consumed};  // all that a checkpoint keeps
      Position resumed = saved;
      const auto rest = walk(sampler_of(64, 10, 3, Shuffle::kFull, tail), resumed, 25 - stop, 3);
      ids.insert(ids.end(), rest.begin(), rest.end());
      CHECK(ids == straight);
      CHECK(resumed == end);
    }
  }
}

TEST_CASE("An epoch ends exactly where its tail policy says", "[data]") {
  const auto keep = sampler_of(10, 4, 1, Shuffle::kNone, Tail::kKeep);
  CHECK(keep.steps_per_epoch() == 3);
  CHECK(keep.window({0, 4}).positions == Range{4, 8});
  CHECK_FALSE(keep.window({0, 4}).ends_epoch);
  CHECK(keep.window({0, 8}).positions == Range{8, 10});
  CHECK(keep.window({0, 8}).ends_epoch);
  CHECK(keep.window({0, 8}).next == Position{1, 0});
  CHECK(keep.window({0, 10}).positions ==
        Range{0, 4});  // a position at the end is the start of the next epoch
  CHECK(keep.window({0, 10}).epoch == 1);

  const auto drop = sampler_of(10, 4, 1, Shuffle::kNone, Tail::kDrop);
  CHECK(drop.steps_per_epoch() == 2);
  CHECK(drop.window({2, 4}).next == Position{3, 0});
  CHECK(drop.window({2, 4}).ends_epoch);
  CHECK(drop.window({2, 8}).epoch == 3);
  CHECK(drop.window({2, 6}).positions == Range{6, 10});

  const auto wrap = sampler_of(10, 4, 1, Shuffle::kNone, Tail::kWrap);
  CHECK(wrap.steps_per_epoch() == 3);
  CHECK(wrap.window({0, 8}).positions == Range{8, 12});
  CHECK(wrap.window({0, 8}).next == Position{1, 0});
  CHECK(wrap.ids(0, {8, 12}) == Ids{8, 9, 0, 1});

  for (const auto tail : {Tail::kKeep, Tail::kDrop, Tail::kWrap}) {
    const auto even = sampler_of(12, 4, 1, Shuffle::kFull, tail);
    CHECK(even.steps_per_epoch() == 3);
    CHECK(even.window({0, 8}).positions == Range{8, 12});
    CHECK(even.window({0, 8}).next == Position{1, 0});
  }
}

TEST_CASE("A batch larger than the set takes the set once, or around and around", "[data]") {
  const auto keep = sampler_of(3, 8, 1, Shuffle::kNone);
  CHECK(keep.steps_per_epoch() == 1);
  CHECK(keep.window({5, 0}).positions == Range{0, 3});
  CHECK(keep.window({5, 0}).next == Position{6, 0});
  const auto wrap = sampler_of(3, 8, 1, Shuffle::kNone, Tail::kWrap);
  CHECK(wrap.ids(0, wrap.window({0, 0}).positions) == Ids{0, 1, 2, 0, 1, 2, 0, 1});
}

TEST_CASE("A set without a single full batch is refused with tail drop", "[data][S05]") {
  const auto text = test::message_of([] { sampler_of(6, 8, 1, Shuffle::kFull, Tail::kDrop); });
  CHECK(test::lacks(text, {"6 samples", "takes 8", "--tail drop", "--batch-size 6"}) == "");
  CHECK_THROWS_AS(sampler_of(6, 8, 1, Shuffle::kFull, Tail::kDrop), ConfigError);
  CHECK_THROWS_AS(sampler_of(0, 8), ConfigError);
  CHECK_THROWS_AS(sampler_of(8, 0), ConfigError);
}

TEST_CASE("Every rank takes part in every step, whatever the sizes", "[data][S11]") {
  const auto sampler = sampler_of(12, 4);
  CHECK(sampler.steps_per_epoch() == 3);
  Position at;
  for (int step = 0; step < 3; ++step) {
    const auto window = sampler.window(at);
    for (std::int64_t rank = 0; rank < 2; ++rank)
      CHECK(share_of(window.positions, {2, rank, 1}).size() == 2);
    at = window.next;
  }
  // More ranks than samples: some have an empty part of the window, none is left out of it.
  std::int64_t total = 0;
  for (std::int64_t rank = 0; rank < 8; ++rank) total += share_of({4, 7}, {8, rank, 1}).size();
  CHECK(total == 3);
  CHECK(share_of({4, 7}, {8, 7, 1}).empty());
}

TEST_CASE("Shares of slots join to the shares of their ranks", "[data]") {
  const Range window{100, 137};
  for (const std::int64_t ranks : {1, 2, 4, 8}) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t count = 8 / ranks;
      const auto joined = share_of(window, {8, rank * count, count});
      CHECK(joined.begin == share_of(window, {8, rank * count, 1}).begin);
      CHECK(joined.end == share_of(window, {8, (rank + 1) * count - 1, 1}).end);
    }
  }
}

TEST_CASE("Block shuffling is a permutation that reads a group from few places", "[data]") {
  for (const std::int64_t n :
       {1, 2, 63, 64, 65, 127, 128, 1000, 1023, 1024, 1025, 1100, 2047, 3000, 70001}) {
    const auto sampler = sampler_of(n, 8, 5, Shuffle::kBlock);
    for (const std::int64_t epoch : {0, 1, 2}) {
      const auto ids = epoch_ids(sampler, epoch);
      CHECK(is_permutation_of_all(ids, n));
      for (std::int64_t group = 0; group * 1024 < n; ++group) {
        auto part = sampler.ids(epoch, {group * 1024, std::min(n, (group + 1) * 1024)});
        std::sort(part.begin(), part.end());
        std::int64_t places = 1;
        for (std::size_t i = 1; i < part.size(); ++i) places += part[i] != part[i - 1] + 1;
        CHECK(places <= 18);  // 16 runs, the short one, and one cut by the end of the set
      }
    }
    if (n > 1000) CHECK(epoch_ids(sampler, 0) != epoch_ids(sampler, 1));
  }
}

TEST_CASE("Ids of a range do not depend on how the range is cut", "[data]") {
  for (const auto shuffle : {Shuffle::kFull, Shuffle::kBlock}) {
    const auto sampler = sampler_of(5000, 128, 9, shuffle);
    const auto all = epoch_ids(sampler, 4);
    for (std::int64_t begin = 0; begin < 5000; begin += 317) {
      const auto part = sampler.ids(4, {begin, std::min<std::int64_t>(5000, begin + 317)});
      CHECK(std::equal(part.begin(), part.end(), all.begin() + begin));
    }
  }
}

}  // namespace lockstep::data
