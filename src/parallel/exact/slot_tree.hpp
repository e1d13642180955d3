// SPDX-License-Identifier: MIT
// Sums for exact mode: V slots are added along one fixed binary tree, whatever rank holds which
// slots, so that any power of two of ranks gives the same bits.
//
//   V = 8, 2 ranks:   ((s0+s1)+(s2+s3)) + ((s4+s5)+(s6+s7))
//                      '---- rank 0 ----'   '---- rank 1 ----'
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace lockstep::parallel {

/// Adds the slots of one rank, in their order. Holds at most log2(slots) + 1 arrays.
class SlotTree {
 public:
  /// The next slot's values; all of one size.
  void push(std::vector<float> leaf);
  /// The root; a power of two of slots was pushed. Leaves the tree empty.
  std::vector<float> take();

 private:
  struct Node {
    int level = 0;
    std::vector<float> values;
  };
  std::vector<Node> open_;  // levels fall from the bottom to the top of the stack
};

/// Goes on along the tree between ranks by recursive doubling: afterwards every rank has the sum
/// over all. The number of ranks is a power of two. Collective.
void add_ranks(std::span<float> values, comm::Communicator& communicator);

}  // namespace lockstep::parallel
