// SPDX-License-Identifier: MIT
// Disks that are full and writes that fail: all ranks get the same error, old checkpoints stay,
// nothing half is left.
#include <sys/mount.h>
#include <sys/resource.h>
#include <torch/types.h>

#include <csignal>
#include <fstream>

#include "core/clock.hpp"
#include "core/text.hpp"
#include "io/file.hpp"
#include "states.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"
#include "support/session.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;
using namespace lockstep::test;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

// A file system of its own in memory; needs root. All ranks of one machine see it.
class SmallDisk {
 public:
  SmallDisk(const std::string& path, const std::string& size) : path_(path) {
    std::int32_t mounted = 0;
    if (world().rank() == 0) {
      fs::create_directory(path);
      mounted = ::mount("lockstep-test", path.c_str(), "tmpfs", 0, cat("size=", size).c_str()) == 0;
    }
    mounted_ = world().all_reduce(mounted, comm::Op::kMax) != 0;
    if (!mounted_ && world().rank() == 0)
      WARN("skipped: no permission to mount a small file system");
  }
  ~SmallDisk() {
    world().barrier();
    if (mounted_ && world().rank() == 0) ::umount2(path_.c_str(), MNT_DETACH);
  }
  explicit operator bool() const { return mounted_; }
  void make_read_only() const {
    if (world().rank() == 0)
      ::mount("lockstep-test", path_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "");
    world().barrier();
  }

 private:
  std::string path_;
  bool mounted_ = false;
};

// Leaves that many bytes free, in pages.
void fill_up(const std::string& folder, std::int64_t leave) {
  if (world().rank() == 0) {
    const auto path = cat(folder, "/ballast");
    fs::remove(path);
    const auto fd = io::create_exclusive(path);
    io::allocate(fd, (io::free_bytes(folder) - leave) / 4096 * 4096, path);
  }
  world().barrier();
}

// In this process no file may grow beyond `bytes`: writes fail as on a full disk, at a place of our
// choice.
struct FileLimit {
  rlimit before{};
  explicit FileLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &before); }
};

bool old_one_is_whole(const std::string& folder) {
  const auto found = find_newest(folder, world());
  return all_ranks(found.step == 1 && found.refused.empty());
}

}  // namespace

TEST_CASE("a full disk is an error with path, needed and free bytes, and costs nothing else",
          "[checkpoint][mpi]") {
  const ScratchFolder scratch;
  const auto folder = (scratch / "disk").string();
  const SmallDisk disk(folder, "16m");
  if (!disk) return;
  const auto state = full_state(1);
  const auto need = save(folder, 1, state, {}, 1, world()).bytes;
  for (int percent = 0; percent < 100; percent += 5) {
    fill_up(folder, need * percent / 100);
    const Stopwatch watch;
    const auto again = [&] { save(folder, 2, state, {}, 1, world()); };
    REQUIRE(expect_error(world(), again, ExitCode::kIo, folder));
    REQUIRE(expect_error(world(), again, ExitCode::kIo, "are needed, "));
    REQUIRE(expect_error(world(), again, ExitCode::kIo, "are free"));
    CHECK(watch.seconds() < 10);
    REQUIRE(old_one_is_whole(folder));
  }
  if (world().rank() == 0) {
    CHECK(names_in(folder) == Names{"ballast", "latest", "step-00000001.h5", "step-00000001.json"});
    fs::remove(cat(folder, "/ballast"));
  }
  world().barrier();
  save(folder, 2, state, {}, 1, world());
  CHECK(find_newest(folder, world()).step == 2);
}

TEST_CASE("a read-only file system is an error of creating", "[checkpoint][mpi]") {
  const ScratchFolder scratch;
  const auto folder = (scratch / "disk").string();
  const SmallDisk disk(folder, "16m");
  if (!disk) return;
  save(folder, 1, small_state(1), {}, 1, world());
  disk.make_read_only();
  REQUIRE(expect_error(
      world(),
      [&] { save(folder, 2, small_state(2), {}, 1, world()); },
      ExitCode::kCannotCreate,
      "Read-only file system"));
  REQUIRE(old_one_is_whole(folder));
}

TEST_CASE("a write that fails on one rank fails the save on all and leaves nothing behind",
          "[checkpoint][mpi]") {
  const ScratchFolder scratch;
  const auto folder = scratch.path().string();
  const auto state = full_state(1);
  const auto bytes = save(folder, 1, state, {}, 1, world()).bytes;
  for (int guilty = 0; guilty < world().ranks(); ++guilty) {
    // In the middle of the guilty rank's part; rank 0 sees it beforehand.
    const auto limit = static_cast<rlim_t>(bytes * (2 * guilty + 1) / (2 * world().ranks()));
    REQUIRE(expect_error(
        world(),
        [&] {
          std::optional<FileLimit> limited;
          if (world().rank() == guilty) limited.emplace(limit);
          save(folder, 2, state, {}, 1, world());
        },
        ExitCode::kIo,
        world().ranks() == 1 ? "bytes" : cat("[rank ", guilty, "] ")));
    REQUIRE(old_one_is_whole(folder));
    if (world().rank() == 0)
      CHECK(names_in(folder) == Names{"latest", "step-00000001.h5", "step-00000001.json"});
    world().barrier();
  }
}
