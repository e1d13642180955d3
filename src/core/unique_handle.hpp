// SPDX-License-Identifier: MIT
// One owner for every foreign handle (file descriptors, HDF5 ids, communicators): move-only, closed
// once.
#pragma once

#include <utility>

namespace lockstep {

/// Traits: `using Value`, `static Value invalid()`, `static void close(Value) noexcept`.
template <class Traits>
class UniqueHandle {
 public:
  using Value = typename Traits::Value;

  UniqueHandle() = default;
  explicit UniqueHandle(Value value) : value_(value) {}
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  UniqueHandle(UniqueHandle&& other) noexcept : value_(other.release()) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) {
      reset();
      value_ = other.release();
    }
    return *this;
  }
  ~UniqueHandle() { reset(); }

  Value get() const { return value_; }
  explicit operator bool() const { return value_ != Traits::invalid(); }
  /// Gives the handle up without closing it.
  Value release() noexcept { return std::exchange(value_, Traits::invalid()); }
  /// Closes now.
  void reset() noexcept {
    if (value_ != Traits::invalid()) Traits::close(release());
  }

 private:
  Value value_ = Traits::invalid();
};

}  // namespace lockstep
