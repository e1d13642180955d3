// SPDX-License-Identifier: MIT
// Collectives on typed spans, for one group of ranks. Transports (mpi/, local/, later nccl/)
// implement the private virtuals; callers never pass a count, a byte length or an MPI type by hand.
//
// Buffers belong to the caller and must stay valid until the call returns: every call blocks. A
// communicator may be used by one thread at a time; a second thread takes a duplicate().
// Collectives must be called by all ranks in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/error.hpp"

namespace lockstep::comm {

enum class ElementType { kByte, kInt32, kInt64, kUInt64, kFloat32, kFloat64, kBFloat16 };
enum class Op { kSum, kMax, kMin };

std::size_t element_bytes(ElementType type);

/// 16 bits of a bfloat16; sums are formed in fp32 and rounded once to nearest even.
struct BFloat16 {
  std::uint16_t bits = 0;
};

template <class T>
constexpr ElementType element_type() {
  if constexpr (std::is_same_v<T, std::byte> || std::is_same_v<T, char>)
    return ElementType::kByte;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return ElementType::kInt32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return ElementType::kInt64;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return ElementType::kUInt64;
  else if constexpr (std::is_same_v<T, float>)
    return ElementType::kFloat32;
  else if constexpr (std::is_same_v<T, double>)
    return ElementType::kFloat64;
  else {
    static_assert(std::is_same_v<T, BFloat16>, "no element type for this C++ type");
    return ElementType::kBFloat16;
  }
}

/// A span of elements without its C++ type; how a transport sees a buffer.
struct Buffer {
  void* data = nullptr;
  std::size_t count = 0;
  ElementType type = ElementType::kByte;
  std::size_t bytes() const { return count * element_bytes(type); }
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  /// data becomes the elementwise sum, maximum or minimum over all ranks, with the same bits on
  /// every rank. Collective. Equal sizes on all ranks.
  template <class T, std::size_t N>
  void all_reduce(std::span<T, N> data, Op op) {
    do_all_reduce(buffer(data), op);
  }
  template <class T>
  T all_reduce(T value, Op op) {
    do_all_reduce(buffer(std::span(&value, 1)), op);
    return value;
  }

  /// data of `root` replaces data everywhere. Collective.
  template <class T, std::size_t N>
  void broadcast(std::span<T, N> data, int root) {
    do_broadcast(buffer(data), root);
  }
  /// A text of any length. Collective.
  std::string broadcast(std::string text, int root);

  /// all[r * mine.size() ..) = mine of rank r. Collective; all.size() == mine.size() * ranks().
  template <class T>
  void all_gather(std::span<const T> mine, std::span<T> all) {
    do_all_gather(buffer(std::span(const_cast<T*>(mine.data()), mine.size())), buffer(all));
  }
  /// One value per rank, by rank. Collective.
  template <class T>
  std::vector<T> all_gather(const T& mine) {
    std::vector<T> all(static_cast<std::size_t>(ranks()));
    do_all_gather(buffer(std::span(const_cast<T*>(&mine), 1)), buffer(std::span(all)));
    return all;
  }
  /// One text per rank, of any lengths. Collective.
  std::vector<std::string> all_gather(const std::string& mine);

  /// mine = the elementwise sum of everybody's all[rank() * mine.size() ..). Collective; all is
  /// left undefined.
  template <class T>
  void reduce_scatter(std::span<T> all, std::span<T> mine) {
    do_reduce_scatter(buffer(all), buffer(mine));
  }

  /// Point to point, matched by (peer, order). Both sides block.
  template <class T>
  void send(std::span<const T> data, int to) {
    do_send(buffer(std::span(const_cast<T*>(data.data()), data.size())), to);
  }
  template <class T>
  void receive(std::span<T> data, int from) {
    do_receive(buffer(data), from);
  }

  /// Sends mine to the peer and fills theirs with what it sends. Both call it; equal sizes.
  template <class T>
  void exchange(std::span<const T> mine, std::span<T> theirs, int peer) {
    do_exchange(buffer(std::span(const_cast<T*>(mine.data()), mine.size())), buffer(theirs), peer);
  }

  /// Collective.
  virtual void barrier() = 0;

  /// Same ranks, own message space: for another thread or another purpose. Collective.
  virtual std::unique_ptr<Communicator> duplicate() = 0;

  /// Ends the whole job with this code, at once, also where peers wait inside a collective. Any one
  /// rank.
  [[noreturn]] virtual void abort(ExitCode code) = 0;

 protected:
  Communicator() = default;
  int rank_ = 0;
  int ranks_ = 1;

 private:
  template <class T, std::size_t N>
  static Buffer buffer(std::span<T, N> data) {
    return {data.data(), data.size(), element_type<T>()};
  }

  virtual void do_all_reduce(Buffer data, Op op) = 0;
  virtual void do_broadcast(Buffer data, int root) = 0;
  virtual void do_all_gather(Buffer mine, Buffer all) = 0;
  virtual void do_reduce_scatter(Buffer all, Buffer mine) = 0;
  virtual void do_send(Buffer data, int to) = 0;
  virtual void do_receive(Buffer data, int from) = 0;
  virtual void do_exchange(Buffer mine, Buffer theirs, int peer) = 0;
};

}  // namespace lockstep::comm
