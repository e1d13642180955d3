// SPDX-License-Identifier: MIT
// Digests of a file's blocks, and their comparison by several ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/partition.hpp"

namespace lockstep::checkpoint {

/// Reads these blocks, from the disk where the kernel lets it, and compares. Empty where all agree,
/// else the first that does not: "block 3 (bytes 3145728 to 4194303) has digest …, expected …".
/// `fresh` drops cached pages first. Local; throws what io::pread_all throws.
std::string compare_blocks(const std::string& path,
                           std::span<const std::uint64_t> digests,
                           Range blocks,
                           bool fresh);

}  // namespace lockstep::checkpoint
