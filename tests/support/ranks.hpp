// SPDX-License-Identifier: MIT
// What tests of several ranks share: the world's communicator, conditions that all ranks judge
// together, a folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "comm/communicator.hpp"

namespace lockstep::test {

/// All ranks of the job; made at the first call, which is collective.
comm::Communicator& world();

/// True on all ranks where true on all ranks: REQUIRE(all_ranks(x)) throws everywhere or nowhere.
/// Collective.
bool all_ranks(bool condition);

/// Runs `work`, which must throw the same lockstep::Error on every rank: with this code, with
/// `fragment` in its text. The outcome is all-reduced, so that REQUIRE(expect_error(...)) is safe;
/// what came instead is printed by the reporter. Collective.
bool expect_error(comm::Communicator& communicator,
                  const std::function<void()>& work,
                  ExitCode code,
                  const std::string& fragment);

/// A fresh folder, the same on all ranks, made by rank 0 and removed when the program ends.
/// Collective.
class ScratchFolder {
 public:
  ScratchFolder();
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace lockstep::test
