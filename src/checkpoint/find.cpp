// SPDX-License-Identifier: MIT
// Finding and verifying: digests over the bytes, dealt over the ranks, before any parser sees them.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "checkpoint/blocks.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/manifest.hpp"
#include "comm/agree.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "io/file.hpp"

namespace lockstep::checkpoint {
namespace {

namespace fs = std::filesystem;

// "" where the step is done well, else why not.
template <class Step>
std::string reason_of(Step&& step) {
  try {
    return step();
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string manifest_path(const std::string& data_path) {
  const auto stem =
      data_path.ends_with(".h5") ? data_path.substr(0, data_path.size() - 3) : data_path;
  return stem + ".json";
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() != fs::file_type::not_found;
}

// A kill between two renames of a save, or between two removals, leaves a manifest without data.
bool is_lone_manifest(const std::string& folder, const std::string& name) {
  if (!name.ends_with(".json")) return false;
  const auto data = name.substr(0, name.size() - 5) + ".h5";
  return step_of(data) && !exists(cat(folder, "/", data));
}

std::string check_part(const std::string& path,
                       const Manifest& manifest,
                       comm::Communicator& communicator) {
  const auto bytes = io::file_bytes(io::open_to_read(path), path);
  if (bytes != manifest.bytes)
    return cat("has ", bytes, " bytes, its manifest says ", manifest.bytes);
  const auto part = part_of(static_cast<std::int64_t>(manifest.blocks.size()),
                            communicator.ranks(),
                            communicator.rank());
  return compare_blocks(path, manifest.blocks, part, false);
}

// Why a file does not agree with its manifest, or "": the same on all ranks. Collective.
std::string refusal(const std::string& path,
                    std::optional<std::int64_t> step,
                    comm::Communicator& communicator) {
  std::string text;
  std::string reason;
  if (communicator.rank() == 0) {
    reason = reason_of([&]() -> std::string {
      if (!exists(manifest_path(path)))
        return cat("has no manifest ", io::name_of(manifest_path(path)));
      text = io::read_text(manifest_path(path));
      return "";
    });
  }
  reason = communicator.broadcast(reason, 0);
  if (!reason.empty()) return reason;
  text = communicator.broadcast(std::move(text), 0);
  // The same text everywhere: the same outcome everywhere.
  Manifest manifest;
  reason = reason_of([&]() -> std::string {
    manifest = parse_manifest(text, io::name_of(manifest_path(path)));
    return step && manifest.step != *step ? cat("its manifest is of step ", manifest.step) : "";
  });
  if (!reason.empty()) return reason;
  const auto reasons =
      communicator.all_gather(reason_of([&] { return check_part(path, manifest, communicator); }));
  const auto it =
      std::find_if(reasons.begin(), reasons.end(), [](const auto& r) { return !r.empty(); });
  return it == reasons.end() ? "" : *it;
}

// What `latest` says that cannot be, or "".
std::string complaint_about_latest(const std::string& folder,
                                   const std::vector<std::int64_t>& steps) {
  const auto path = cat(folder, "/", kLatest);
  if (!exists(path)) return "";
  return reason_of([&]() -> std::string {
    const auto name = trim(io::read_text(path, 4096));
    const auto step = step_of(name);
    if (!step) return cat(kLatest, ": '", name.substr(0, 80), "' is not the name of a checkpoint");
    if (std::find(steps.begin(), steps.end(), *step) == steps.end())
      return cat(kLatest, ": names ", name, ", which is not there");
    return "";
  });
}

// Steps with a data file, newest first.
std::vector<std::int64_t> steps_in(const std::string& folder) {
  std::vector<std::int64_t> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (const auto step = step_of(it->path().filename().string())) out.push_back(*step);
  }
  if (error && error != std::errc::no_such_file_or_directory)
    throw IoError(cat("cannot list ", folder, ": ", error.message()));
  std::sort(out.rbegin(), out.rend());
  return out;
}

}  // namespace

Found find_newest(const std::string& folder, comm::Communicator& communicator) {
  std::vector<std::int64_t> steps;
  std::string complaint;
  comm::agree_on(communicator, [&] {
    if (communicator.rank() != 0) return;
    steps = steps_in(folder);
    complaint = complaint_about_latest(folder, steps);
  });
  auto count = static_cast<std::int64_t>(steps.size());
  communicator.broadcast(std::span(&count, 1), 0);
  steps.resize(static_cast<std::size_t>(count));
  communicator.broadcast(std::span(steps), 0);
  complaint = communicator.broadcast(complaint, 0);

  Found found;
  if (!complaint.empty()) found.refused.push_back(complaint);
  for (const auto step : steps) {
    const auto path = cat(folder, "/", data_name(step));
    const auto reason = refusal(path, step, communicator);
    if (reason.empty()) {
      found.path = path;
      found.step = step;
      return found;
    }
    found.refused.push_back(cat(data_name(step), ": ", reason));
  }
  if (found.refused.empty()) return found;
  throw comm::AgreedError(ExitCode::kBadData,
                          cat("no checkpoint in ",
                              folder,
                              " can be used:\n  ",
                              join(found.refused, "\n  "),
                              "\nPut a good one there, or start again in another folder."));
}

Verified verify(const std::string& path, comm::Communicator& communicator) {
  bool lone = false;
  comm::agree_on(communicator, [&] {
    if (communicator.rank() != 0) return;
    io::open_to_read(path);
    lone = !exists(manifest_path(path));
  });
  const auto unverified = communicator.all_reduce<std::int32_t>(lone, comm::Op::kMax) != 0;
  if (unverified) return {.unverified = true};
  const auto reason = refusal(path, std::nullopt, communicator);
  if (!reason.empty()) throw comm::AgreedError(ExitCode::kBadData, cat(path, ": ", reason));
  return {};
}

void remove_leftovers(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> gone;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const auto name = it->path().filename().string();
    std::error_code ignored;
    const bool temporary = is_leftover(name) && io::is_temporary(name);
    if ((temporary || is_lone_manifest(folder, name)) &&
        it->symlink_status(ignored).type() == fs::file_type::regular)
      gone.push_back(name);
  }
  for (const auto& name : gone) {
    io::remove_file(cat(folder, "/", name));
    log::info(cat("removed ", name, ", left by a save that did not end"));
  }
}

Provenance read_provenance(const std::string& path) {
  const auto file = manifest_path(path);
  if (!exists(file)) return {};
  const auto manifest = parse_manifest(io::read_text(file), file);
  return {.ranks = manifest.ranks,
          .lockstep_version = manifest.lockstep_version,
          .torch_version = manifest.torch_version,
          .bucket_order = manifest.bucket_order};
}

}  // namespace lockstep::checkpoint
