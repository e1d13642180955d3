// SPDX-License-Identifier: MIT
#include "comm/communicator.hpp"

namespace lockstep::comm {

std::size_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::kByte:
      return 1;
    case ElementType::kBFloat16:
      return 2;
    case ElementType::kInt32:
    case ElementType::kFloat32:
      return 4;
    default:
      return 8;
  }
}

std::string Communicator::broadcast(std::string text, int root) {
  std::int64_t size = static_cast<std::int64_t>(text.size());
  broadcast(std::span(&size, 1), root);
  text.resize(static_cast<std::size_t>(size));
  broadcast(std::span(text), root);
  return text;
}

std::vector<std::string> Communicator::all_gather(const std::string& mine) {
  std::vector<std::string> all;
  for (int r = 0; r < ranks(); ++r) all.push_back(broadcast(r == rank() ? mine : std::string(), r));
  return all;
}

}  // namespace lockstep::comm
