// SPDX-License-Identifier: MIT
#include "parallel/ddp/bucket_plan.hpp"

#include <numeric>

#include "core/check.hpp"
#include "core/digest.hpp"

namespace lockstep::parallel {

std::uint64_t BucketPlan::digest() const {
  DigestStream stream;
  for (const int index : order) stream.add(cat(index, ","));
  for (const auto& place : places)
    stream.add(cat(place.bucket, ":", place.offset, "+", place.elements, ","));
  return stream.value();
}

std::vector<int> reverse_order(std::size_t parameters) {
  std::vector<int> order(parameters);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

BucketPlan plan_buckets(const std::vector<ParameterSize>& parameters,
                        std::vector<int> order,
                        std::int64_t cap_elements) {
  LOCKSTEP_ASSERT(order.size() == parameters.size(),
                  order.size(),
                  " of ",
                  parameters.size(),
                  " parameters are ordered");
  BucketPlan plan;
  plan.cap_elements = cap_elements;
  plan.places.resize(parameters.size());
  for (const int index : order) {
    const std::int64_t elements = parameters[static_cast<std::size_t>(index)].elements;
    if (plan.elements.empty() || plan.elements.back() + elements > cap_elements) {
      plan.elements.push_back(0);
      plan.members.push_back(0);
    }
    plan.places[static_cast<std::size_t>(index)] = {plan.buckets() - 1,
                                                    plan.elements.back(),
                                                    elements};
    plan.elements.back() += round_up(elements, kAlignElements);
    ++plan.members.back();
  }
  plan.order = std::move(order);
  return plan;
}

BucketCounter::BucketCounter(const BucketPlan& plan) : members_(plan.members) { reset(); }

void BucketCounter::reset() {
  pending_ = members_;
  next_ = 0;
}

Range BucketCounter::complete(int bucket) {
  auto& pending = pending_[static_cast<std::size_t>(bucket)];
  LOCKSTEP_ASSERT(pending > 0, "bucket ", bucket, " has more gradients than members");
  --pending;
  const std::int64_t begin = next_;
  while (next_ < static_cast<std::int64_t>(pending_.size()) &&
         pending_[static_cast<std::size_t>(next_)] == 0)
    ++next_;
  return {begin, next_};
}

Range BucketCounter::rest() {
  const std::int64_t begin = next_;
  next_ = static_cast<std::int64_t>(pending_.size());
  return {begin, next_};
}

}  // namespace lockstep::parallel
