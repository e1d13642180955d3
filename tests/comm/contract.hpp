// SPDX-License-Identifier: MIT
// What every transport must do, as cases that run on one rank of a group. They note what is wrong
// instead of asserting: ranks may be threads, and Catch2's assertions belong to one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "core/text.hpp"

namespace lockstep::test {

/// One rank's view of a case.
struct Probe {
  comm::Communicator& communicator;
  std::vector<std::string> wrong;

  template <class... Parts>
  void expect(bool holds, const Parts&... what) {
    if (!holds && wrong.size() < 20)
      wrong.push_back(cat("[rank ", communicator.rank(), "] ", what...));
  }
  /// `work` throws a lockstep::Error with this code and this part in its text.
  void expect_error(ExitCode code, const std::string& part, const std::function<void()>& work);
};

struct ContractCase {
  const char* name;
  std::function<void(Probe&)> run;
};

/// Every rank of a group runs all cases, in order.
std::vector<ContractCase> reduce_cases();
std::vector<ContractCase> move_cases();
/// Agreement on failures.
std::vector<ContractCase> agree_cases();

}  // namespace lockstep::test
