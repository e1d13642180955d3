// SPDX-License-Identifier: MIT
// Damaged checkpoints are refused by name, with the reason, and the one before is used.
#include <sys/stat.h>
#include <torch/types.h>

#include <functional>

#include "core/random.hpp"
#include "core/text.hpp"
#include "states.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;
using namespace lockstep::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kOld = "step-00000010.h5";
constexpr const char* kNew = "step-00000020.h5";

// Two good checkpoints; the newer one is made again for each kind of damage.
class Folder {
 public:
  explicit Folder(const State& state) : state_(state) {
    save(path(), 10, state_, {}, 0, world());
    save(path(), 20, state_, {}, 0, world());
    data_ = bytes_of(file(kNew));
    manifest_ = bytes_of(file("step-00000020.json"));
    world().barrier();
  }

  std::string path() const { return folder_.path().string(); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  const std::string& data() const { return data_; }
  const std::string& manifest() const { return manifest_; }

  // Rank 0 does damage; all ranks look; whether the old one was found and the new one refused for
  // `reason`.
  bool falls_back(const std::function<void()>& damage, const std::string& reason) {
    if (world().rank() == 0) damage();
    world().barrier();
    const auto found = find_newest(path(), world());
    const auto text = join(found.refused, "\n");
    const bool good = found.path == file(kOld) && found.step == 10 &&
                      text.find(reason) != std::string::npos &&
                      text.find(kNew) != std::string::npos;
    UNSCOPED_INFO("refused: " << text << "\nwanted: " << reason);
    repair();
    return all_ranks(good);
  }

  bool is_whole() {
    const auto found = find_newest(path(), world());
    return all_ranks(found.path == file(kNew) && found.refused.empty());
  }

 private:
  void repair() {
    world().barrier();
    if (world().rank() == 0) {
      fs::remove_all(file(kNew));
      fs::remove_all(file("step-00000020.json"));
      write_bytes(file(kNew), data_);
      write_bytes(file("step-00000020.json"), manifest_);
      write_bytes(file("latest"), cat(kNew, "\n"));
    }
    world().barrier();
  }

  ScratchFolder folder_;
  State state_;
  std::string data_, manifest_;
};

}  // namespace

TEST_CASE("a flipped bit anywhere in the file is found", "[checkpoint][mpi]") {
  Folder folder(full_state(1));
  REQUIRE(folder.is_whole());
  const auto bytes = folder.data().size();
  for (std::uint64_t i = 0; i < 40; ++i) {
    // Both ends, then anywhere.
    const auto at = i == 0 ? 0 : i == 1 ? bytes - 1 : random_bits(1, Purpose::kTest, i) % bytes;
    const auto damage = [&] {
      auto changed = folder.data();
      changed[at] = static_cast<char>(changed[at] ^ (1 << (i % 8)));
      write_bytes(folder.file(kNew), changed);
    };
    REQUIRE(folder.falls_back(damage, cat(kNew, ": block ", at >> 20, " (bytes ")));
  }
  REQUIRE(folder.is_whole());
}

TEST_CASE("a file of another length is found", "[checkpoint][mpi]") {
  Folder folder(full_state(2));
  const auto bytes = folder.data().size();
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{512}, bytes / 2, bytes - 1}) {
    REQUIRE(folder.falls_back([&] { fs::resize_file(folder.file(kNew), length); },
                              cat("has ", length, " bytes, its manifest says ", bytes)));
  }
  REQUIRE(folder.falls_back([&] { fs::resize_file(folder.file(kNew), bytes + 1); },
                            cat("has ", bytes + 1, " bytes")));
}

TEST_CASE("a missing, foreign or damaged manifest is named", "[checkpoint][mpi]") {
  Folder folder(small_state(3));
  const auto manifest = folder.file("step-00000020.json");
  REQUIRE(folder.falls_back([&] { fs::remove(manifest); }, "has no manifest step-00000020.json"));
  REQUIRE(folder.falls_back([&] { write_bytes(manifest, ""); }, "is not a whole manifest"));
  REQUIRE(folder.falls_back([&] { write_bytes(manifest, folder.manifest().substr(0, 200)); },
                            "is not a whole manifest"));
  REQUIRE(folder.falls_back(
      [&] {
        fs::copy_file(folder.file("step-00000010.json"),
                      manifest,
                      fs::copy_options::overwrite_existing);
      },
      "its manifest is of step 10"));
}

TEST_CASE("only regular files are candidates", "[checkpoint][mpi]") {
  Folder folder(small_state(4));
  const auto file = folder.file(kNew);
  REQUIRE(folder.falls_back(
      [&] {
        fs::remove(file);
        fs::create_symlink(kOld, file);
      },
      "symbolic links are not followed"));
  REQUIRE(folder.falls_back(
      [&] {
        fs::remove(file);
        fs::create_directory(file);
      },
      "is not a regular file"));
  REQUIRE(folder.falls_back(
      [&] {
        fs::remove(file);
        ::mkfifo(file.c_str(), 0600);
      },
      "is not a regular file"));
  const auto manifest = folder.file("step-00000020.json");
  REQUIRE(folder.falls_back(
      [&] {
        fs::remove(manifest);
        fs::create_symlink("step-00000010.json", manifest);
      },
      "symbolic links are not followed"));
}

TEST_CASE("latest that is dangling, empty or nonsense is named and not believed",
          "[checkpoint][mpi]") {
  Folder folder(small_state(5));
  const auto latest = folder.file("latest");
  REQUIRE(folder.falls_back([&] { fs::remove(folder.file(kNew)); },
                            "latest: names step-00000020.h5, which is not there"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "latest: '' is not the name of a checkpoint"},
      {"../../etc/passwd\n", "latest: '../../etc/passwd' is not"},
      {"Step-00000020.h5\n", "latest: 'Step-00000020.h5' is not"}};
  for (const auto& [text, reason] : cases) {
    if (world().rank() == 0) write_bytes(latest, text);
    world().barrier();
    const auto found = find_newest(folder.path(), world());
    CHECK(found.step == 20);
    REQUIRE(all_ranks(found.refused.size() == 1));
    CHECK_THAT(found.refused[0], Catch::Contains(reason));
  }
  world().barrier();
  if (world().rank() == 0) fs::remove(latest);
  world().barrier();
  REQUIRE(folder.is_whole());
}

TEST_CASE("where none verifies the run is refused, never started fresh", "[checkpoint][mpi]") {
  Folder folder(small_state(6));
  if (world().rank() == 0) {
    fs::resize_file(folder.file(kNew), 10);
    fs::remove(folder.file("step-00000010.json"));
  }
  world().barrier();
  for (const char* text : {"no checkpoint in ",
                           "\n  step-00000020.h5: has 10 bytes",
                           "\n  step-00000010.h5: has no manifest"}) {
    REQUIRE(expect_error(
        world(),
        [&] { find_newest(folder.path(), world()); },
        ExitCode::kBadData,
        text));
  }
  if (world().rank() == 0) {
    fs::remove(folder.file(kNew));
    fs::remove(folder.file(kOld));
  }
  world().barrier();
  REQUIRE(expect_error(
      world(),
      [&] { find_newest(folder.path(), world()); },
      ExitCode::kBadData,
      "latest: names step-00000020.h5, which is not there"));
}

TEST_CASE("a file given by its path is verified, or says that it cannot be", "[checkpoint][mpi]") {
  Folder folder(small_state(7));
  CHECK_FALSE(verify(folder.file(kNew), world()).unverified);
  REQUIRE(expect_error(
      world(),
      [&] { verify(folder.file("none.h5"), world()); },
      ExitCode::kMissingInput,
      "none.h5"));
  world().barrier();
  if (world().rank() == 0) {
    fs::remove(folder.file("step-00000020.json"));
    auto changed = folder.data();
    changed[changed.size() / 2] ^= 1;
    write_bytes(folder.file(kOld), changed);
  }
  world().barrier();
  CHECK(verify(folder.file(kNew), world()).unverified);
  REQUIRE(expect_error(
      world(),
      [&] { verify(folder.file(kOld), world()); },
      ExitCode::kBadData,
      "step-00000010.h5: block 0 (bytes "));
}
