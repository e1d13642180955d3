// SPDX-License-Identifier: MIT
// The folder: retention, left-overs, what `latest` says, folders that cannot be made.
#include <torch/types.h>

#include <fstream>

#include "core/text.hpp"
#include "states.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;
using namespace lockstep::test;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

void save_step(const std::string& folder, std::int64_t step, std::int64_t keep) {
  save(folder, step, small_state(static_cast<std::uint64_t>(step)), {}, keep, world());
}

// Names in a folder as rank 0 sees them, when all ranks are there.
Names names(const std::string& folder) {
  world().barrier();
  return split(world().broadcast(world().rank() == 0 ? join(names_in(folder), "|") : "", 0), '|');
}

}  // namespace

TEST_CASE("after ten saves the newest two remain", "[checkpoint][mpi][C05]") {
  const ScratchFolder folder;
  for (std::int64_t step = 1; step <= 10; ++step) save_step(folder.path().string(), step, 2);
  CHECK(names(folder.path().string()) == Names{"latest",
                                               "step-00000009.h5",
                                               "step-00000009.json",
                                               "step-00000010.h5",
                                               "step-00000010.json"});
  save_step(folder.path().string(), 11, 1);
  CHECK(names(folder.path().string()) == Names{"latest", "step-00000011.h5", "step-00000011.json"});
  CHECK(bytes_of((folder / "latest").string()) == "step-00000011.h5\n");
  save_step(folder.path().string(), 12, 0);
  CHECK(names(folder.path().string()).size() == 5);
}

TEST_CASE("damaged ones do not count for retention, and foreign files stay",
          "[checkpoint][mpi][C05]") {
  const ScratchFolder folder;
  const auto path = folder.path().string();
  for (const std::int64_t step : {1, 2, 3}) save_step(path, step, 0);
  if (world().rank() == 0) {
    fs::resize_file(folder / "step-00000003.h5", 100);
    fs::remove(folder / "step-00000002.json");
    write_bytes((folder / "notes.txt").string(), "mine");
    fs::create_symlink("notes.txt", folder / "step-00000000.h5");
  }
  world().barrier();
  save_step(path, 4, 2);  // 1 and 4 are good
  CHECK(names(path) == Names{"latest",
                             "notes.txt",
                             "step-00000001.h5",
                             "step-00000001.json",
                             "step-00000002.h5",
                             "step-00000003.h5",
                             "step-00000003.json",
                             "step-00000004.h5",
                             "step-00000004.json"});
  save_step(path, 5, 2);
  CHECK(names(path) == Names{"latest",
                             "notes.txt",
                             "step-00000004.h5",
                             "step-00000004.json",
                             "step-00000005.h5",
                             "step-00000005.json"});
}

TEST_CASE("saving a step again replaces it", "[checkpoint][mpi]") {
  const ScratchFolder folder;
  const auto path = folder.path().string();
  save_step(path, 4, 1);
  save(path, 4, small_state(99), {}, 1, world());
  const auto found = find_newest(path, world());
  REQUIRE(all_ranks(found.step == 4 && found.refused.empty()));
  auto loaded = blank_like(small_state(99));
  load(found.path, loaded, world());
  CHECK(same_bits(loaded, small_state(99)));
}

TEST_CASE("left-overs of a killed save are removed and are never used", "[checkpoint][mpi][C02]") {
  const ScratchFolder folder;
  const auto path = folder.path().string();
  save_step(path, 1, 0);
  const Names left = {"latest.tmp-7-0123456789abcdef",
                      "step-00000002.h5.tmp-7-0123456789abcdef",
                      "step-00000002.json.tmp-7-0123456789abcdef"};
  if (world().rank() == 0) {
    for (const auto& name : left) fs::copy_file(folder / "step-00000001.h5", folder / name);
    fs::copy_file(folder / "step-00000001.json",
                  folder / "step-00000002.json");  // killed between its rename and the data's
    write_bytes((folder / "other.tmp-7-0123456789abcdef").string(), "not ours");
  }
  world().barrier();
  CHECK(find_newest(path, world()).step == 1);
  if (world().rank() == 0) remove_leftovers(path);
  CHECK(names(path) ==
        Names{"latest", "other.tmp-7-0123456789abcdef", "step-00000001.h5", "step-00000001.json"});
  if (world().rank() == 0) CHECK_NOTHROW(remove_leftovers((folder / "none").string()));
}

TEST_CASE("no folder and an empty folder hold no checkpoint", "[checkpoint][mpi]") {
  const ScratchFolder folder;
  for (const auto& path : {folder.path().string(), (folder / "none").string()}) {
    const auto found = find_newest(path, world());
    CHECK(found.path.empty());
    CHECK(found.refused.empty());
  }
}

TEST_CASE("new folders are made on the way, by all ranks at once", "[checkpoint][mpi][C11]") {
  const ScratchFolder folder;
  for (int round = 0; round < 5; ++round) {
    const auto path = (folder / cat("new", round, "/deep/path")).string();
    save_step(path, 1, 1);
    CHECK(find_newest(path, world()).step == 1);
  }
}

TEST_CASE("a folder that cannot be made is one error on all ranks", "[checkpoint][mpi][C11]") {
  const ScratchFolder folder;
  if (world().rank() == 0) write_bytes((folder / "file").string(), "");
  world().barrier();
  for (const auto& path : {(folder / "file/below").string(), std::string("/proc/none")}) {
    REQUIRE(expect_error(
        world(),
        [&] { save_step(path, 1, 1); },
        ExitCode::kCannotCreate,
        "cannot make folder " + path));
  }
  REQUIRE(expect_error(
      world(),
      [&] { save_step((folder / "file").string(), 1, 1); },
      ExitCode::kCannotCreate,
      "is not a folder"));
}
