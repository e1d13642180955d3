// SPDX-License-Identifier: MIT
#include "session/run_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "comm/agree.hpp"
#include "core/text.hpp"

namespace lockstep::session {
namespace {

constexpr int kMostRuns = 9999;

std::string next_free(const std::string& model) {
  io::make_folders("runs");
  for (int number = 1; number <= kMostRuns; ++number) {
    std::array<char, 16> digits;
    std::snprintf(digits.data(), digits.size(), "%04d", number);
    const auto path = cat("runs/", model, "-", digits.data());
    std::error_code error;
    if (std::filesystem::create_directory(path, error)) return path;  // false: somebody has it
    if (error)
      throw CannotCreateError(cat(path,
                                  ": cannot make the run folder: ",
                                  error.message(),
                                  ". --run-dir names another place"));
  }
  throw CannotCreateError(cat("runs/: all of ",
                              model,
                              "-0001..",
                              kMostRuns,
                              " are taken; remove some, or give --run-dir"));
}

io::Fd lock_folder(const std::string& folder) {
  const auto path = folder + "/lock";
  io::Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!fd)
    throw CannotCreateError(cat(path,
                                ": ",
                                std::strerror(errno),
                                ". --run-dir must name a folder that can be written"));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    std::array<char, 128> owner{};
    if (pread(fd.get(), owner.data(), owner.size() - 1, 0) < 0) owner[0] = 0;
    throw CannotCreateError(cat(folder,
                                " is in use by another run (",
                                trim(owner.data()),
                                "); wait for it or give another --run-dir"));
  }
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  const auto text = cat("host ", host.data(), ", process ", getpid(), "\n");
  if (ftruncate(fd.get(), 0) != 0 || pwrite(fd.get(), text.data(), text.size(), 0) < 0) {
    throw CannotCreateError(cat(path, ": ", std::strerror(errno)));
  }
  return fd;
}

}  // namespace

RunFolder::RunFolder(const std::string& wanted,
                     const std::string& model,
                     bool fresh,
                     comm::Communicator& communicator) {
  comm::agree_on(communicator, [&] {
    if (communicator.rank() == 0) prepare(wanted, model, fresh);
  });
  path_ = communicator.broadcast(path_, 0);
  std::int32_t used = used_ ? 1 : 0;
  communicator.broadcast(std::span(&used, 1), 0);
  used_ = used != 0;
}

void RunFolder::prepare(const std::string& wanted, const std::string& model, bool fresh) {
  path_ = wanted.empty() ? next_free(model) : wanted;
  io::make_folders(path_);
  lock_ = lock_folder(path_);
  used_ =
      std::filesystem::exists(path_ + "/metrics.jsonl") || std::filesystem::exists(checkpoints());
  if (used_ && fresh) {
    throw CannotCreateError(cat(
        path_,
        " holds a run already and --resume never was given; nothing is overwritten. Give another "
        "--run-dir, or leave --resume out to continue that run"));
  }
  io::make_folders(checkpoints());
}

}  // namespace lockstep::session
