// SPDX-License-Identifier: MIT
#include "io/file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"

namespace lockstep::io {
namespace {

// A single call moves less than 2 GiB, the limit of Linux.
constexpr std::size_t kMaxCallBytes = std::size_t{1} << 30;

std::string reason(int error) { return std::strerror(error); }

bool no_space(int error) { return error == ENOSPC || error == EDQUOT; }

// "…; 4096 bytes are needed, 0 bytes are free" where space is the reason, else nothing.
std::string space_text(int error, std::int64_t needed, const std::string& path) {
  if (!no_space(error)) return "";
  std::string free = "an unknown number of";
  try {
    free = cat(free_bytes(folder_of(path)));
  } catch (const Error&) {
    // The reason why the write failed matters more than why statvfs did.
  }
  return cat("; ", needed, " bytes are needed, ", free, " bytes are free");
}

Fd open_regular(const std::string& path, int flags, const char* purpose) {
  // O_NONBLOCK: opening a pipe must not wait for its other end. It has no effect on regular files.
  Fd fd(::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    const std::string text = cat("cannot open ", path, " for ", purpose, ": ", reason(error));
    if (error == ENOENT || error == ENOTDIR) throw MissingInputError(text);
    if (error == ELOOP) throw DataError(cat(text, "; symbolic links are not followed"));
    if (error == EISDIR || error == ENXIO) throw DataError(text);
    throw IoError(text);
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) throw IoError(cat("cannot stat ", path, ": ", reason(errno)));
  if (!S_ISREG(info.st_mode)) throw DataError(cat(path, " is not a regular file"));
  return fd;
}

}  // namespace

void FdTraits::close(Value fd) noexcept { ::close(fd); }

Fd open_to_read(const std::string& path) { return open_regular(path, O_RDONLY, "reading"); }
Fd open_to_write(const std::string& path) { return open_regular(path, O_RDWR, "writing"); }

Fd create_exclusive(const std::string& path, unsigned mode) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd) {
    const int error = errno;
    const std::string text =
        cat("cannot create ", path, ": ", reason(error), space_text(error, 4096, path));
    if (no_space(error) || error == EIO) throw IoError(text);
    throw CannotCreateError(text);
  }
  return fd;
}

void pread_all(const Fd& fd,
               std::span<std::byte> bytes,
               std::int64_t offset,
               const std::string& path) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t wanted = std::min(bytes.size() - done, kMaxCallBytes);
    const ssize_t got =
        ::pread(fd.get(), bytes.data() + done, wanted, offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      const std::string why = got < 0 ? reason(errno) : "the file ends there";
      throw IoError(cat("cannot read ",
                        path,
                        " at offset ",
                        offset,
                        ": wanted ",
                        bytes.size(),
                        " bytes, got ",
                        done,
                        ": ",
                        why));
    }
    done += static_cast<std::size_t>(got);
  }
}

void pwrite_all(const Fd& fd,
                std::span<const std::byte> bytes,
                std::int64_t offset,
                const std::string& path) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t wanted = std::min(bytes.size() - done, kMaxCallBytes);
    const ssize_t put =
        ::pwrite(fd.get(), bytes.data() + done, wanted, offset + static_cast<std::int64_t>(done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const int error = put < 0 ? errno : ENOSPC;
      throw IoError(cat("cannot write ",
                        path,
                        " at offset ",
                        offset,
                        ": wanted ",
                        bytes.size(),
                        " bytes, wrote ",
                        done,
                        ": ",
                        reason(error),
                        space_text(error, static_cast<std::int64_t>(bytes.size() - done), path)));
    }
    done += static_cast<std::size_t>(put);
  }
}

void allocate(const Fd& fd, std::int64_t bytes, const std::string& path) {
  if (bytes <= 0) return;
  int outcome = 0;
  do {
    outcome = ::fallocate(fd.get(), 0, 0, bytes);
  } while (outcome != 0 && errno == EINTR);
  if (outcome == 0 || errno == EOPNOTSUPP || errno == ENOSYS) return;
  const int error = errno;
  throw IoError(cat("cannot reserve ",
                    bytes,
                    " bytes for ",
                    path,
                    ": ",
                    reason(error),
                    space_text(error, bytes, path)));
}

void sync_file(const Fd& fd, const std::string& path) {
  int outcome = 0;
  do {
    outcome = ::fsync(fd.get());
  } while (outcome != 0 && errno == EINTR);
  if (outcome == 0) return;
  const int error = errno;
  struct stat info {};
  const std::int64_t needed = ::fstat(fd.get(), &info) == 0 ? info.st_size : 0;
  throw IoError(
      cat("fsync of ", path, " failed: ", reason(error), space_text(error, needed, path)));
}

void sync_folder(const std::string& folder) {
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) throw IoError(cat("cannot open folder ", folder, ": ", reason(errno)));
  // EINVAL: a file system that cannot sync folders; there is nothing better to do on it.
  if (::fsync(fd.get()) != 0 && errno != EINVAL)
    throw IoError(cat("fsync of folder ", folder, " failed: ", reason(errno)));
}

void rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return;
  const int error = errno;
  throw IoError(
      cat("cannot rename ", from, " to ", to, ": ", reason(error), space_text(error, 4096, to)));
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    throw IoError(cat("cannot remove ", path, ": ", reason(errno)));
}

std::string read_text(const std::string& path, std::int64_t max_bytes) {
  const Fd fd = open_to_read(path);
  const std::int64_t bytes = file_bytes(fd, path);
  if (bytes > max_bytes)
    throw DataError(
        cat(path, " has ", bytes, " bytes; at most ", max_bytes, " are read as a text"));
  std::string text(static_cast<std::size_t>(bytes), '\0');
  pread_all(fd, std::as_writable_bytes(std::span(text)), 0, path);
  return text;
}

void publish_text(const std::string& path, std::string_view text, unsigned mode) {
  const std::string temporary = temporary_name(path);
  Fd fd = create_exclusive(temporary, mode);
  try {
    pwrite_all(fd, std::as_bytes(std::span(text)), 0, temporary);
    sync_file(fd, temporary);
    fd.reset();
    rename_file(temporary, path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(folder_of(path));
}

std::string temporary_name(const std::string& path) {
  std::random_device random;
  std::array<char, 32> end;
  std::snprintf(end.data(), end.size(), "-%08x%08x", random(), random());
  return cat(path, ".tmp-", ::getpid(), end.data());
}

bool is_temporary(std::string_view name) {
  const auto at = name.rfind(".tmp-");
  if (at == std::string_view::npos) return false;
  const std::string_view end = name.substr(at + 5);
  const auto dash = end.find('-');
  if (dash == std::string_view::npos || dash == 0 || end.size() - dash - 1 != 16) return false;
  return end.substr(0, dash).find_first_not_of("0123456789") == std::string_view::npos &&
         end.substr(dash + 1).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void make_folders(const std::string& path, unsigned mode) {
  for (std::size_t at = path.find_first_not_of('/'); at != std::string::npos;) {
    at = path.find('/', at);
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), mode) != 0) {
      const int error = errno;
      struct stat info {};
      const bool is_folder = ::stat(part.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
      if (!is_folder) {
        const std::string why =
            error == EEXIST ? cat(part, " is not a folder") : cat(part, ": ", reason(error));
        throw CannotCreateError(cat("cannot make folder ", path, ": ", why));
      }
    }
    if (at != std::string::npos) at = path.find_first_not_of('/', at);
  }
}

std::int64_t file_bytes(const Fd& fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) throw IoError(cat("cannot stat ", path, ": ", reason(errno)));
  return info.st_size;
}

std::int64_t free_bytes(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0)
    throw IoError(cat("cannot ask for the free space of ", path, ": ", reason(errno)));
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

std::int64_t file_size_limit() {
  constexpr auto kNone = std::numeric_limits<std::int64_t>::max();
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur > static_cast<rlim_t>(kNone))
    return kNone;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

void drop_cache(const Fd& fd, std::int64_t offset, std::int64_t bytes) {
  ::posix_fadvise(fd.get(), offset, bytes, POSIX_FADV_DONTNEED);
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string executable_path() {
  std::vector<char> buffer(4096);
  const ssize_t length = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  if (length <= 0) throw IoError(cat("cannot read /proc/self/exe: ", reason(errno)));
  return {buffer.data(), static_cast<std::size_t>(length)};
}

}  // namespace lockstep::io
