// SPDX-License-Identifier: MIT
#include "checkpoint/blocks.hpp"

#include <vector>

#include "checkpoint/image.hpp"
#include "core/digest.hpp"
#include "core/text.hpp"
#include "io/file.hpp"

namespace lockstep::checkpoint {

std::string compare_blocks(const std::string& path,
                           std::span<const std::uint64_t> digests,
                           Range blocks,
                           bool fresh) {
  if (blocks.empty()) return "";
  const auto fd = io::open_to_read(path);
  const auto file_bytes = io::file_bytes(fd, path);
  if (fresh)
    io::drop_cache(fd, blocks.begin * kDigestBlockBytes, blocks.size() * kDigestBlockBytes);
  std::vector<std::byte> buffer;
  for (auto block = blocks.begin; block < blocks.end; ++block) {
    const auto range = block_range(block, file_bytes);
    if (range.empty())
      return cat("block ", block, " is missing: the file has ", file_bytes, " bytes");
    buffer.resize(static_cast<std::size_t>(range.size()));
    io::pread_all(fd, buffer, range.begin, path);
    const auto found = digest(std::span<const std::byte>(buffer));
    const auto expected = digests[static_cast<std::size_t>(block)];
    if (found != expected) {
      return cat("block ",
                 block,
                 " (bytes ",
                 range.begin,
                 " to ",
                 range.end - 1,
                 ") has digest ",
                 hex(found),
                 ", expected ",
                 hex(expected));
    }
  }
  return "";
}

}  // namespace lockstep::checkpoint
