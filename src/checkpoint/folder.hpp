// SPDX-License-Identifier: MIT
// The names in a checkpoint folder, and which checkpoints go when a new one is there. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::checkpoint {

/// Text file that names the newest checkpoint, for people and scripts.
inline constexpr const char* kLatest = "latest";

/// "step-00001234.h5", "step-00001234.json".
std::string data_name(std::int64_t step);
std::string manifest_name(std::int64_t step);

/// The step of a data file's name; none for every other name.
std::optional<std::int64_t> step_of(std::string_view name);

/// True for temporaries of files of a checkpoint folder.
bool is_leftover(std::string_view name);

/// What retention knows about a checkpoint of the folder.
struct Held {
  std::int64_t step = 0;
  bool complete = false;  ///< has a manifest that fits its size
};

/// Steps to delete after `current` was published: those older than the newest `keep` complete ones
/// up to and including `current`. Nothing newer than `current` is counted or deleted, and nothing
/// at all where keep is 0.
std::vector<std::int64_t> superseded(std::span<const Held> held,
                                     std::int64_t current,
                                     std::int64_t keep);

}  // namespace lockstep::checkpoint
