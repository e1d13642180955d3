// SPDX-License-Identifier: MIT
#include "parallel/exact/slot_tree.hpp"

#include "core/check.hpp"

namespace lockstep::parallel {
namespace {

// Addition commutes in its bits, so both sides of a pair may write "own + other".
void add(std::span<float> into, std::span<const float> other) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] += other[i];
}

}  // namespace

void SlotTree::push(std::vector<float> leaf) {
  Node node{0, std::move(leaf)};
  while (!open_.empty() && open_.back().level == node.level) {
    add(open_.back().values, node.values);
    node = std::move(open_.back());
    open_.pop_back();
    ++node.level;
  }
  open_.push_back(std::move(node));
}

std::vector<float> SlotTree::take() {
  LOCKSTEP_ASSERT(open_.size() == 1, open_.size(), " open nodes: no power of two of slots");
  auto values = std::move(open_.back().values);
  open_.clear();
  return values;
}

void add_ranks(std::span<float> values, comm::Communicator& communicator) {
  std::vector<float> other(values.size());
  for (int distance = 1; distance < communicator.ranks(); distance *= 2) {
    communicator.exchange(std::span<const float>(values),
                          std::span(other),
                          communicator.rank() ^ distance);
    add(values, other);
  }
}

}  // namespace lockstep::parallel
