// SPDX-License-Identifier: MIT
// The bucket plan and the counter that decides which buckets may go out.
#include "parallel/ddp/bucket_plan.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "support/catch.hpp"

namespace lockstep::parallel {
namespace {

std::vector<ParameterSize> sizes(const std::vector<std::int64_t>& elements) {
  std::vector<ParameterSize> out;
  for (const auto n : elements) out.push_back({"p" + std::to_string(out.size()), n});
  return out;
}

}  // namespace

TEST_CASE("A plan fills buckets from the last parameter backwards", "[parallel]") {
  const auto plan = plan_buckets(sizes({10, 20, 5}), reverse_order(3), 48);
  REQUIRE(plan.buckets() == 2);
  CHECK(plan.places[2].bucket == 0);
  CHECK(plan.places[2].offset == 0);
  CHECK(plan.places[1].bucket == 0);
  CHECK(plan.places[1].offset == 16);
  CHECK(plan.places[0].bucket == 1);
  CHECK(plan.elements == std::vector<std::int64_t>{48, 16});
  CHECK(plan.members == std::vector<int>{2, 1});
}

TEST_CASE("A parameter larger than the cap has a bucket of its own", "[parallel]") {
  const auto plan = plan_buckets(sizes({3, 1000, 3}), reverse_order(3), 64);
  CHECK(plan.members == std::vector<int>{1, 1, 1});
  CHECK(plan.elements[1] == 1008);
}

TEST_CASE("Places never overlap, are aligned and cover every parameter once", "[parallel]") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> elements(1 + random() % 40);
    for (auto& n : elements) n = 1 + random() % 5000;
    auto order = reverse_order(elements.size());
    std::shuffle(order.begin(), order.end(), random);
    const auto plan = plan_buckets(sizes(elements), order, 1 + random() % 20000);
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> used(
        static_cast<std::size_t>(plan.buckets()));
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const auto& place = plan.places[i];
      CHECK(place.elements == elements[i]);
      CHECK(place.offset % kAlignElements == 0);
      used[static_cast<std::size_t>(place.bucket)].emplace_back(place.offset,
                                                                place.offset + place.elements);
    }
    for (std::size_t b = 0; b < used.size(); ++b) {
      std::sort(used[b].begin(), used[b].end());
      for (std::size_t i = 1; i < used[b].size(); ++i)
        CHECK(used[b][i - 1].second <= used[b][i].first);
      CHECK(used[b].back().second <= plan.elements[b]);
      CHECK(static_cast<int>(used[b].size()) == plan.members[b]);
    }
  }
}

TEST_CASE("The digest of a plan tells order and boundaries apart", "[parallel]") {
  const auto plan = plan_buckets(sizes({10, 20, 5}), {2, 1, 0}, 64);
  CHECK(plan.digest() == plan_buckets(sizes({10, 20, 5}), {2, 1, 0}, 64).digest());
  CHECK(plan.digest() != plan_buckets(sizes({10, 20, 5}), {1, 2, 0}, 64).digest());
  CHECK(plan.digest() != plan_buckets(sizes({10, 20, 5}), {2, 1, 0}, 32).digest());
}

TEST_CASE("Buckets go out in plan order whatever the order of completion", "[parallel]") {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::int64_t> elements(1 + random() % 30, 16);
    const auto plan =
        plan_buckets(sizes(elements), reverse_order(elements.size()), 16 * (1 + random() % 5));
    BucketCounter counter(plan);
    std::vector<int> fire(elements.size());
    std::iota(fire.begin(), fire.end(), 0);
    std::shuffle(fire.begin(), fire.end(), random);
    fire.resize(random() % (fire.size() + 1));  // some never fire
    std::vector<int> complete(plan.members.size(), 0);
    std::int64_t next = 0;
    for (const int p : fire) {
      const int bucket = plan.places[static_cast<std::size_t>(p)].bucket;
      ++complete[static_cast<std::size_t>(bucket)];
      const auto out = counter.complete(bucket);
      CHECK(out.begin == next);
      for (auto b = out.begin; b < out.end; ++b) {
        CHECK(complete[static_cast<std::size_t>(b)] == plan.members[static_cast<std::size_t>(b)]);
      }
      next = out.end;
    }
    CHECK(counter.rest() == Range{next, plan.buckets()});
    CHECK(counter.rest().empty());
  }
}

}  // namespace lockstep::parallel
