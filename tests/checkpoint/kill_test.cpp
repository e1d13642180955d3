// SPDX-License-Identifier: MIT
// A process that saves all the time is killed at random moments: what it said was saved is there,
// whole.
#include <sys/wait.h>
#include <torch/types.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "comm/local/local_group.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "states.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;
using namespace lockstep::test;
namespace fs = std::filesystem;

namespace {

State state_of_step(std::int64_t step) {
  return step % 2 ? full_state(static_cast<std::uint64_t>(step))
                  : small_state(static_cast<std::uint64_t>(step));
}

// The child: saves step after step and tells each one that was published.
[[noreturn]] void save_forever(const std::string& folder, std::int64_t step, int tell) {
  try {
    auto alone = comm::make_local_group(1);
    while (true) {
      save(folder, step, state_of_step(step), {}, 1, *alone[0]);
      if (::write(tell, &step, sizeof step) != sizeof step) ::_exit(1);
      ++step;
    }
  } catch (const std::exception& error) {
    ::write(STDERR_FILENO, error.what(), std::string_view(error.what()).size());
  }
  ::_exit(1);
}

// Lets a child save, kills it after a while, returns the last step that it told of.
std::int64_t save_and_be_killed(const std::string& folder,
                                std::int64_t first,
                                std::chrono::microseconds after) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) save_forever(folder, first, ends[1]);
  ::close(ends[1]);
  std::int64_t told = first - 1;
  std::int64_t step = 0;
  if (::read(ends[0], &step, sizeof step) == sizeof step) told = step;  // past the start-up
  std::this_thread::sleep_for(after);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  while (::read(ends[0], &step, sizeof step) == sizeof step) told = step;
  ::close(ends[0]);
  return told;
}

struct Folder {
  std::string path = (fs::temp_directory_path() / "lockstep-kill-XXXXXX").string();
  Folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~Folder() { fs::remove_all(path); }
};

}  // namespace

TEST_CASE("a kill at any moment of a save leaves the newest checkpoint whole",
          "[checkpoint][C02][C05]") {
  const Folder scratch;
  const auto& folder = scratch.path;
  std::int64_t next = 1;
  int interrupted = 0;
  for (std::uint64_t kill = 0; kill < 40; ++kill) {
    const auto told =
        save_and_be_killed(folder,
                           next,
                           std::chrono::microseconds(random_bits(1, Purpose::kTest, kill) % 60000));
    auto alone = comm::make_local_group(1);
    const auto files = names_in(folder).size();
    remove_leftovers(folder);
    interrupted += names_in(folder).size() < files;
    const auto found = find_newest(folder, *alone[0]);
    REQUIRE(found.step >= told);
    REQUIRE(found.step <= told + 1);
    const auto expected = state_of_step(found.step);
    auto loaded = blank_like(expected);
    load(found.path, loaded, *alone[0]);
    REQUIRE(same_bits(loaded, expected));
    next = found.step + 1;
  }
  CHECK(interrupted > 5);  // the kills did hit saves
}
