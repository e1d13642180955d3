// SPDX-License-Identifier: MIT
// Which gradients are reduced together and in which order: pure data, equal on all ranks (they
// compare its digest).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/partition.hpp"

namespace lockstep::parallel {

/// What the plan needs to know of a parameter.
struct ParameterSize {
  std::string name;
  std::int64_t elements = 0;
};

/// One parameter's place: elements [offset, offset + elements) of its bucket.
struct Place {
  int bucket = 0;
  std::int64_t offset = 0;
  std::int64_t elements = 0;
};

/// Example: parameters of 10, 20 and 5 elements, cap 32 elements, order reversed:
///   bucket 0 holds parameter 2 at 0 and parameter 1 at 16 (36 elements, padded to 48), bucket 1
///   holds parameter 0.
struct BucketPlan {
  std::int64_t cap_elements = 0;
  std::vector<int> order;              ///< parameter indices as their gradients are expected
  std::vector<Place> places;           ///< by parameter index
  std::vector<std::int64_t> elements;  ///< of each bucket, padding included
  std::vector<int> members;            ///< number of parameters of each bucket

  int buckets() const { return static_cast<int>(elements.size()); }
  std::uint64_t digest() const;
};

/// Places start at multiples of 64 bytes, so that slices of any parameter are aligned for vector
/// units.
inline constexpr std::int64_t kAlignElements = 16;

/// Fills buckets in the given order; a bucket is closed before a parameter would take it past
/// cap_elements, so a parameter larger than that has a bucket of its own. `order` is a permutation
/// of the indices.
BucketPlan plan_buckets(const std::vector<ParameterSize>& parameters,
                        std::vector<int> order,
                        std::int64_t cap_elements);

/// Last parameter first: backward produces gradients about in this order.
std::vector<int> reverse_order(std::size_t parameters);

/// Counts a window's gradients and says which buckets may go out: in plan order, each once. That
/// order alone makes the sequence of collectives equal on all ranks, whatever the order of the
/// hooks.
class BucketCounter {
 public:
  explicit BucketCounter(const BucketPlan& plan);
  /// Forgets everything; call before each step.
  void reset();
  /// One more member of this bucket is complete. Returns the buckets [begin, end) that may go out
  /// now.
  Range complete(int bucket);
  /// All that has not gone out: [begin, end).
  Range rest();

 private:
  std::vector<int> members_;
  std::vector<int> pending_;
  std::int64_t next_ = 0;
};

}  // namespace lockstep::parallel
