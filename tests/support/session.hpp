// SPDX-License-Identifier: MIT
// Catch2's runner behind a small interface: session.cpp is the only file that pays for it and knows
// both major versions.
#pragma once

#include <functional>
#include <string>

namespace lockstep::test {

/// Told about every test case as it begins and ends, in the main thread.
class CaseListener {
 public:
  virtual ~CaseListener() = default;
  virtual void case_begins(const std::string& name) = 0;
  virtual void case_ends(const std::string& name, bool failed) = 0;
};

/// Runs the chosen test cases in the order of their declaration, never shuffled: ranks must meet in
/// the same case. Returns 0 where all passed, 77 where nothing but skips came, else 1. `quiet`
/// keeps complaints about the command line from stderr.
int run_session(int argc, char** argv, CaseListener* listener, bool quiet);

/// Runs `work` when all test cases are over, before MPI goes; the last one first. For what outlives
/// a case.
void at_end(std::function<void()> work);
void run_at_end();

}  // namespace lockstep::test
