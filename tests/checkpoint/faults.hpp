// SPDX-License-Identifier: MIT
// System calls of this process that fail, stop short or lie on command. faults.cpp defines the
// calls themselves, in front of the C library's, so that the program under test needs no hooks.
#pragma once

namespace lockstep::test {

enum class Call { kWrite, kSync, kRename, kReserve };

struct Fault {
  Call call = Call::kWrite;
  int skip = 0;       ///< calls of that kind that go well before
  int error = 0;      ///< errno; 0: the call lies, a written byte is another one on the disk
  bool once = false;  ///< false: all later calls of the kind fail too (short writes come first)
};

/// Armed while it lives. `fired` tells whether the fault came about.
class FaultGuard {
 public:
  explicit FaultGuard(const Fault& fault);
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;
  static bool fired();
};

}  // namespace lockstep::test
