// SPDX-License-Identifier: MIT
#include "faults.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <vector>

namespace lockstep::test {
namespace {

std::optional<Fault> g_fault;
bool g_fired = false;

// Whether the present call is to go wrong.
bool strikes(Call call) {
  if (!g_fault || g_fault->call != call || g_fault->skip-- > 0) return false;
  g_fault->skip = 0;
  g_fired = true;
  return true;
}

int fail() {
  errno = g_fault->error;
  if (g_fault->once) g_fault.reset();
  return -1;
}

}  // namespace

FaultGuard::FaultGuard(const Fault& fault) {
  g_fault = fault;
  g_fired = false;
}
FaultGuard::~FaultGuard() { g_fault.reset(); }
bool FaultGuard::fired() { return g_fired; }

}  // namespace lockstep::test

using namespace lockstep::test;

extern "C" ssize_t pwrite(int fd, const void* data, size_t count, off_t offset) {
  if (!strikes(Call::kWrite)) return ::syscall(SYS_pwrite64, fd, data, count, offset);
  if (g_fault->error != 0 && count > 1 && !g_fault->once)
    return ::syscall(SYS_pwrite64, fd, data, count / 2, offset);  // short first
  if (g_fault->error != 0) return fail();
  const auto* bytes = static_cast<const char*>(data);
  std::vector<char> other(bytes, bytes + count);
  other[count / 2] = static_cast<char>(other[count / 2] ^ 4);
  g_fault.reset();
  return ::syscall(SYS_pwrite64, fd, other.data(), count, offset);
}

extern "C" int fsync(int fd) {
  return strikes(Call::kSync) ? fail() : static_cast<int>(::syscall(SYS_fsync, fd));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  return strikes(Call::kRename)
             ? fail()
             : static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

extern "C" int fallocate(int fd, int mode, off_t offset, off_t length) {
  return strikes(Call::kReserve)
             ? fail()
             : static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, length));
}
