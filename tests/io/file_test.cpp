// SPDX-License-Identifier: MIT
#include "io/file.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::io;
namespace fs = std::filesystem;

namespace {

struct Folder {
  std::string path = (fs::temp_directory_path() / "lockstep-file-XXXXXX").string();
  Folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return cat(path, "/", name); }
};

void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

ExitCode code_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::kDone;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder))
    out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

// Room for `bytes` bytes a file in this process: writes stop short there, as on a full disk.
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

}  // namespace

TEST_CASE("only regular files are opened", "[io]") {
  const Folder folder;
  put(folder / "file", "text");
  CHECK(open_to_read(folder / "file"));
  CHECK(code_of([&] { open_to_read(folder / "none"); }) == ExitCode::kMissingInput);
  CHECK(code_of([&] { open_to_read(folder / "file/below"); }) == ExitCode::kMissingInput);
  CHECK(code_of([&] { open_to_read(folder.path); }) == ExitCode::kBadData);
  fs::create_symlink("file", folder / "link");
  CHECK_THROWS_WITH(open_to_read(folder / "link"),
                    Catch::Contains("symbolic links are not followed"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(open_to_read(folder / "pipe"), Catch::Contains("is not a regular file"));
  CHECK(code_of([&] { open_to_write(folder / "link"); }) == ExitCode::kBadData);
}

TEST_CASE("a new file is never an old one or what a link points to", "[io]") {
  const Folder folder;
  create_exclusive(folder / "new");
  CHECK(code_of([&] { create_exclusive(folder / "new"); }) == ExitCode::kCannotCreate);
  fs::create_symlink("elsewhere", folder / "link");
  CHECK(code_of([&] { create_exclusive(folder / "link"); }) == ExitCode::kCannotCreate);
  CHECK_FALSE(fs::exists(folder / "elsewhere"));
  CHECK_THROWS_WITH(create_exclusive(folder / "none/new"),
                    Catch::Contains("none/new: No such file or directory"));
}

TEST_CASE("what was written is read, and an early end is named", "[io]") {
  const Folder folder;
  const auto path = folder / "file";
  const auto fd = create_exclusive(path);
  const std::string text = "0123456789";
  pwrite_all(fd, std::as_bytes(std::span(text)), 5, path);
  CHECK(file_bytes(fd, path) == 15);
  CHECK(read_text(path) == std::string(5, '\0') + text);
  std::vector<std::byte> bytes(12);
  CHECK_THROWS_WITH(
      pread_all(fd, bytes, 10, path),
      Catch::Contains(cat(path, " at offset 10: wanted 12 bytes, got 5: the file ends there")));
  CHECK(code_of([&] { read_text(path, 14); }) == ExitCode::kBadData);
}

TEST_CASE("a write that stops short names offset, wanted and written", "[io]") {
  const Folder folder;
  const auto path = folder / "file";
  const auto fd = create_exclusive(path);
  const std::vector<std::byte> bytes(8192);
  const FileLimit limit(6000);
  CHECK_THROWS_WITH(
      pwrite_all(fd, bytes, 1000, path),
      Catch::Contains("at offset 1000: wanted 8192 bytes, wrote 5000: File too large"));
}

TEST_CASE("space is reserved without touching data", "[io]") {
  const Folder folder;
  const auto path = folder / "file";
  const auto fd = create_exclusive(path);
  const std::string text = "kept";
  pwrite_all(fd, std::as_bytes(std::span(text)), 0, path);
  allocate(fd, 100000, path);
  CHECK(read_text(path).substr(0, 4) == text);
  CHECK(free_bytes(folder.path) > 0);
  CHECK(code_of([&] { allocate(fd, std::int64_t{1} << 60, path); }) == ExitCode::kIo);
}

TEST_CASE("a published text replaces the old one and leaves nothing else", "[io]") {
  const Folder folder;
  publish_text(folder / "latest", "one\n");
  publish_text(folder / "latest", "two\n");
  CHECK(read_text(folder / "latest") == "two\n");
  CHECK(names_in(folder.path) == std::vector<std::string>{"latest"});
  {
    const FileLimit limit(3);
    CHECK(code_of([&] { publish_text(folder / "latest", "three\n"); }) == ExitCode::kIo);
  }
  CHECK(read_text(folder / "latest") == "two\n");
  CHECK(names_in(folder.path) == std::vector<std::string>{"latest"});
}

TEST_CASE("temporary names are unique and told from others", "[io]") {
  const auto name = temporary_name("runs/a/step-00000001.h5");
  CHECK(name != temporary_name("runs/a/step-00000001.h5"));
  CHECK(folder_of(name) == "runs/a");
  CHECK(is_temporary(name));
  for (const char* other : {"step-00000001.h5",
                            "x.tmp-",
                            "x.tmp-12",
                            "x.tmp-12-",
                            "x.tmp-12-0123456789abcdeg",
                            "x.tmp--0123456789abcdef",
                            "x.tmp-12-0123456789abcdef.h5"}) {
    INFO(other);
    CHECK_FALSE(is_temporary(other));
  }
}

TEST_CASE("folders are made by many at once", "[io][C11]") {
  const Folder folder;
  std::atomic<int> failures = 0;
  for (int round = 0; round < 30; ++round) {
    const auto path = folder / cat("new", round, "/deep//path/");
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        try {
          make_folders(path);
        } catch (const Error&) {
          ++failures;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(fs::is_directory(path));
  }
  CHECK(failures == 0);
  put(folder / "file", "");
  CHECK_THROWS_WITH(
      make_folders(folder / "file/below"),
      Catch::Contains("cannot make folder") && Catch::Contains("file is not a folder"));
  CHECK(code_of([&] { make_folders(folder / "file/below"); }) == ExitCode::kCannotCreate);
  CHECK(code_of([&] { make_folders("/proc/none/below"); }) == ExitCode::kCannotCreate);
}

TEST_CASE("paths fall into folder and name", "[io]") {
  CHECK(folder_of("a/b") == "a");
  CHECK(folder_of("a") == ".");
  CHECK(folder_of("/a") == "/");
  CHECK(name_of("a/b") == "b");
  CHECK(name_of("b") == "b");
  CHECK(name_of(executable_path()).starts_with("io_file"));
}
