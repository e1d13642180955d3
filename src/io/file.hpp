// SPDX-License-Identifier: MIT
// Files of the operating system with every error checked: whole reads and writes, exclusive
// creation, atomic publishing. A message names the path, the offset, what was wanted and what was
// got, and the system's own text. Nothing here is collective; all functions may be called by any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/unique_handle.hpp"

namespace lockstep::io {

struct FdTraits {
  using Value = int;
  static Value invalid() { return -1; }
  static void close(Value fd) noexcept;
};
/// Owns a file descriptor.
using Fd = UniqueHandle<FdTraits>;

/// Opens an existing regular file; symbolic links, folders, pipes and devices are refused.
/// Throws MissingInputError where nothing is there, DataError for another kind of file, else
/// IoError.
Fd open_to_read(const std::string& path);

/// Opens an existing regular file for writing, under the same rules.
Fd open_to_write(const std::string& path);

/// Makes a new file; an existing one, also a symbolic link, is an error. Throws CannotCreateError,
/// or IoError (disk full).
Fd create_exclusive(const std::string& path, unsigned mode = 0666);

/// Fills `bytes` from `offset`. Throws IoError where the file ends before.
void pread_all(const Fd& fd,
               std::span<std::byte> bytes,
               std::int64_t offset,
               const std::string& path);

/// Writes all of `bytes` at `offset`. Throws IoError; with needed and free bytes where the disk or
/// a quota is full.
void pwrite_all(const Fd& fd,
                std::span<const std::byte> bytes,
                std::int64_t offset,
                const std::string& path);

/// Reserves blocks for the first `bytes` bytes, growing the file. A file system that cannot reserve
/// is tolerated. fallocate(2) only: glibc's posix_fallocate falls back to writing, over what other
/// ranks write at that time.
void allocate(const Fd& fd, std::int64_t bytes, const std::string& path);

/// fsync(2): late errors (disk full, I/O) show here.
void sync_file(const Fd& fd, const std::string& path);

/// Makes names in a folder durable after a rename.
void sync_folder(const std::string& folder);

/// rename(2), replacing `to`.
void rename_file(const std::string& from, const std::string& to);

/// Removes a file; one that is not there is no error.
void remove_file(const std::string& path);

/// A whole small file.
std::string read_text(const std::string& path, std::int64_t max_bytes = 64 << 20);

/// Replaces `path` by a file with this text, atomically and durably: temporary name, fsync, rename,
/// fsync of the folder.
void publish_text(const std::string& path, std::string_view text, unsigned mode = 0666);

/// A name beside `path` that no other process uses: "PATH.tmp-PID-RANDOM".
std::string temporary_name(const std::string& path);

/// True for what temporary_name() makes.
bool is_temporary(std::string_view name);

/// Makes a folder and its parents. Ranks may call it at the same time: one that exists already is
/// fine. Throws CannotCreateError with the path and the reason.
void make_folders(const std::string& path, unsigned mode = 0777);

/// Size of an open file.
std::int64_t file_bytes(const Fd& fd, const std::string& path);

/// Bytes that this user can still write on the file system of an existing path.
std::int64_t free_bytes(const std::string& path);

/// Bytes that this process may give a file (ulimit -f); the largest number where there is no limit.
std::int64_t file_size_limit();

/// Asks the kernel to forget its cached pages of the range, so that the next read comes from the
/// disk. A hint.
void drop_cache(const Fd& fd, std::int64_t offset, std::int64_t bytes);

/// The part of a path before the last '/', "." where there is none; and the part behind it.
std::string folder_of(const std::string& path);
std::string name_of(const std::string& path);

/// Full path of the running program.
std::string executable_path();

}  // namespace lockstep::io
