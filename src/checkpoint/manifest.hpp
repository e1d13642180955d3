// SPDX-License-Identifier: MIT
// The manifest step-NNNNNNNN.json beside a checkpoint: its size and the digests of its bytes, and
// what depends on ranks and versions and therefore is not in the checkpoint itself. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::checkpoint {

/// Version of the files that this program writes. Later versions add; they read every earlier one.
inline constexpr std::int64_t kFormatVersion = 1;

struct Manifest {
  std::int64_t step = 0;
  std::int64_t bytes = 0;
  std::vector<std::uint64_t>
      blocks;  ///< XXH3 of each block of kDigestBlockBytes, the last one may be shorter
  std::int64_t ranks = 1;
  std::string lockstep_version, torch_version;
  std::vector<std::int64_t> bucket_order;  ///< see Provenance
};

/// The text of the file, with a line end.
std::string to_text(const Manifest& manifest);

/// Throws DataError, with `path` and what is wrong, unless the text is a whole manifest of a known
/// version whose numbers fit together.
Manifest parse_manifest(std::string_view text, const std::string& path);

}  // namespace lockstep::checkpoint
