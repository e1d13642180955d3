// SPDX-License-Identifier: MIT
// Every system call of a save fails once, on every rank: all ranks get one error, and what can be
// found is whole.
#include <torch/types.h>

#include <cerrno>
#include <optional>

#include "core/text.hpp"
#include "faults.hpp"
#include "states.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;
using namespace lockstep::test;
using Names = std::vector<std::string>;

namespace {

struct Outcome {
  bool fired = false;   ///< on any rank
  bool failed = false;  ///< the save, on all ranks
  std::string text;
};

// Saves step 2 with a fault on one rank.
Outcome save_with(const std::string& folder, const State& state, const Fault& fault, int guilty) {
  Outcome out;
  {
    std::optional<FaultGuard> guard;
    if (world().rank() == guilty) guard.emplace(fault);
    try {
      save(folder, 2, state, {}, 1, world());
    } catch (const Error& error) {
      out.failed = true;
      out.text = error.what();
      CHECK(error.code() == ExitCode::kIo);
    }
    out.fired = world().rank() == guilty && FaultGuard::fired();
  }
  out.fired = world().all_reduce<std::int32_t>(out.fired, comm::Op::kMax) != 0;
  REQUIRE(all_ranks(out.failed) == out.failed);
  return out;
}

}  // namespace

TEST_CASE("each failing call of a save is one error on all ranks and costs no checkpoint",
          "[checkpoint][mpi][C02]") {
  const auto state = full_state(2);
  const ScratchFolder scratch;
  int rounds = 0;
  for (const auto call : {Call::kWrite, Call::kSync, Call::kRename, Call::kReserve}) {
    for (int guilty = 0; guilty < world().ranks(); ++guilty) {
      for (int skip = 0;; ++skip, ++rounds) {
        const auto folder = (scratch / cat("round", rounds)).string();
        save(folder, 1, state, {}, 1, world());
        const int error = call == Call::kWrite ? ENOSPC : call == Call::kRename ? EACCES : EIO;
        const auto outcome =
            save_with(folder, state, {.call = call, .skip = skip, .error = error}, guilty);
        const auto found = find_newest(folder, world());
        REQUIRE(all_ranks(found.refused.empty() && !found.path.empty()));
        if (!outcome.fired) {
          CHECK_FALSE(outcome.failed);
          CHECK(found.step == 2);
          break;  // this rank makes fewer such calls
        }
        INFO(outcome.text);
        CHECK(outcome.failed);
        CHECK_THAT(outcome.text, Catch::Contains(folder));
        if (call == Call::kWrite)
          CHECK_THAT(outcome.text,
                     Catch::Contains("No space left on device; ") &&
                         Catch::Contains(" bytes are needed, "));
        const auto names = names_in(folder);
        CHECK(std::count(names.begin(), names.end(), "step-00000001.h5") == 1);
        CHECK(std::none_of(names.begin(), names.end(), [](const auto& name) {
          return name.find(".tmp-") != std::string::npos;
        }));
        REQUIRE(all_ranks(true));
        if (world().rank() == 0) std::filesystem::remove_all(folder);
      }
    }
  }
  CHECK(rounds >= 10);
}

TEST_CASE("a byte that the disk holds wrong is found before anything is published",
          "[checkpoint][mpi]") {
  const ScratchFolder scratch;
  const auto folder = scratch.path().string();
  const auto state = full_state(3);
  save(folder, 1, state, {}, 1, world());
  world().barrier();
  for (int guilty = 0; guilty < world().ranks(); ++guilty) {
    const auto outcome =
        save_with(folder, state, {.call = Call::kWrite, .skip = 0, .error = 0}, guilty);
    INFO(outcome.text);
    CHECK((outcome.fired && outcome.failed));
    CHECK_THAT(outcome.text,
               Catch::Contains(cat("read back after rank ", guilty, " wrote it, block ")));
    if (world().rank() == 0)
      CHECK(names_in(folder) == Names{"latest", "step-00000001.h5", "step-00000001.json"});
    REQUIRE(all_ranks(true));
  }
}

TEST_CASE(
    "interrupted and short writes are taken up again, and a file system without reservation is "
    "fine",
    "[checkpoint][mpi]") {
  const auto state = full_state(4);
  for (const auto& [call, error] : {std::pair{Call::kWrite, EINTR},
                                    {Call::kSync, EINTR},
                                    {Call::kReserve, EINTR},
                                    {Call::kReserve, EOPNOTSUPP}}) {
    const ScratchFolder scratch;
    const auto outcome = save_with(scratch.path().string(),
                                   state,
                                   {.call = call, .skip = 0, .error = error, .once = true},
                                   0);
    CHECK(outcome.fired);
    CHECK_FALSE(outcome.failed);
    auto loaded = blank_like(state);
    load(find_newest(scratch.path().string(), world()).path, loaded, world());
    CHECK(same_bits(loaded, state));
    REQUIRE(all_ranks(true));
  }
}
