// SPDX-License-Identifier: MIT
// Saving: rank 0 makes the skeleton and an empty file, every rank writes the blocks that it owns,
// its neighbour reads them back, rank 0 publishes. After each phase the ranks agree, so that all go
// on or all throw; the temporary file goes with rank 0's guard.
#include <torch/types.h>

#include <algorithm>
#include <filesystem>

#include "checkpoint/blocks.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/image.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/skeleton.hpp"
#include "comm/agree.hpp"
#include "core/clock.hpp"
#include "core/digest.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "io/file.hpp"

namespace lockstep::checkpoint {
namespace {

constexpr unsigned kFileMode = 0640;  // weights are not for everybody

// Removes the temporary file unless it was published.
struct Temporary {
  std::string path;
  ~Temporary() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove(path, ignored);
  }
};

std::uint64_t layout_digest(const State& state, std::int64_t step) {
  DigestStream stream;
  stream.add(cat(step));
  for (const auto* named : by_name(state)) {
    stream.add(cat('/',
                   named->name,
                   ':',
                   dtype_text(named->tensor.scalar_type()),
                   shape_text(named->tensor.sizes())));
  }
  for (const auto& [name, value] : state.scalars) {
    stream.add(cat('/', name, '='));
    std::visit([&](const auto& v) { stream.add(cat(v)); }, value);
  }
  return stream.value();
}

void check_space(const std::string& folder, std::int64_t needed) {
  const auto free = std::min(io::free_bytes(folder), io::file_size_limit());
  if (needed > free) {
    throw IoError(cat("no space for a checkpoint in ",
                      folder,
                      ": ",
                      needed,
                      " bytes (",
                      human_bytes(static_cast<std::uint64_t>(needed)),
                      ") are needed, ",
                      free,
                      " bytes (",
                      human_bytes(static_cast<std::uint64_t>(free)),
                      ") are free; free some, or lower --keep"));
  }
}

// Rank 0's first part: the empty file, its blocks reserved where the file system can, and what will
// be in it.
Skeleton begin_file(const std::string& folder,
                    Temporary& temporary,
                    const std::string& name,
                    const State& state) {
  io::make_folders(folder);
  check_space(folder, estimate_bytes(state));
  auto skeleton = make_skeleton(state);
  const auto path = io::temporary_name(cat(folder, "/", name));
  const auto fd = io::create_exclusive(path, kFileMode);
  temporary.path = path;
  io::allocate(fd, skeleton.file_bytes, path);
  return skeleton;
}

void broadcast(Skeleton& skeleton,
               std::string& temporary,
               std::size_t tensors,
               comm::Communicator& communicator) {
  temporary = communicator.broadcast(temporary, 0);
  skeleton.offsets.resize(tensors);
  communicator.broadcast(std::span(skeleton.offsets), 0);
  communicator.broadcast(std::span(&skeleton.file_bytes, 1), 0);
  skeleton.gaps = communicator.broadcast(std::move(skeleton.gaps), 0);
}

// This rank's part of the finished file in memory. Tensors that are not row-major are copied, into
// `copies`, and only those that reach into the part.
FileImage image_of(const Skeleton& skeleton,
                   const State& state,
                   Range part,
                   std::vector<torch::Tensor>& copies) {
  const torch::NoGradGuard no_grad;
  std::vector<Piece> pieces;
  std::vector<Range> taken;
  std::size_t index = 0;
  for (const auto* named : by_name(state)) {
    const auto begin = skeleton.offsets[index++];
    const Range range{
        begin,
        begin + named->tensor.numel() * static_cast<std::int64_t>(named->tensor.element_size())};
    taken.push_back(range);
    if (range.empty() || range.end <= part.begin || range.begin >= part.end) continue;
    copies.push_back(named->tensor.contiguous());
    pieces.push_back({range.begin,
                      {static_cast<const std::byte*>(copies.back().const_data_ptr()),
                       static_cast<std::size_t>(range.size())}});
  }
  std::span<const std::byte> gaps = std::as_bytes(std::span(skeleton.gaps));
  for (const auto& gap : gaps_between(std::move(taken), skeleton.file_bytes)) {
    const auto bytes = static_cast<std::size_t>(gap.size());
    if (gap.end > part.begin && gap.begin < part.end)
      pieces.push_back({gap.begin, gaps.first(bytes)});
    gaps = gaps.subspan(bytes);
  }
  return {std::move(pieces), part};
}

// Writes whole blocks, so that no page or lock is shared with another rank, and every byte comes
// from memory: the digests say what should be in the file.
void write_blocks(const std::string& path,
                  const Skeleton& skeleton,
                  const State& state,
                  Range blocks,
                  std::span<std::uint64_t> digests) {
  if (blocks.empty()) return;
  const Range part{block_range(blocks.begin, skeleton.file_bytes).begin,
                   block_range(blocks.end - 1, skeleton.file_bytes).end};
  std::vector<torch::Tensor> copies;
  const auto image = image_of(skeleton, state, part, copies);
  const auto fd = io::open_to_write(path);
  std::vector<std::byte> scratch;
  for (auto block = blocks.begin; block < blocks.end; ++block) {
    const auto range = block_range(block, skeleton.file_bytes);
    const auto bytes = image.bytes(range, scratch);
    digests[static_cast<std::size_t>(block)] = digest(bytes);
    io::pwrite_all(fd, bytes, range.begin, path);
  }
  io::sync_file(fd, path);
}

// Rank 0's last part. The manifest goes first: a data file that has none was never published.
void publish(const std::string& folder, const std::string& temporary, const Manifest& manifest) {
  const auto data = cat(folder, "/", data_name(manifest.step));
  const auto beside = cat(folder, "/", manifest_name(manifest.step));
  io::publish_text(beside, to_text(manifest), kFileMode);
  try {
    io::rename_file(temporary, data);
  } catch (const Error&) {
    std::error_code ignored;
    if (!std::filesystem::exists(data, ignored)) std::filesystem::remove(beside, ignored);
    throw;
  }
  io::sync_folder(folder);
  io::publish_text(cat(folder, "/", kLatest), data_name(manifest.step) + "\n", kFileMode);
}

// Whether a checkpoint may be counted on without reading all of it again: it was verified when it
// was published.
bool is_complete(const std::string& folder, std::int64_t step) {
  try {
    const auto path = cat(folder, "/", manifest_name(step));
    const auto data = cat(folder, "/", data_name(step));
    return parse_manifest(io::read_text(path), path).bytes ==
           io::file_bytes(io::open_to_read(data), data);
  } catch (const Error&) {
    return false;
  }
}

// Rank 0 only. The new checkpoint is safe: an error here is worth a warning, not a failed save.
void retain(const std::string& folder, std::int64_t current, std::int64_t keep) {
  if (keep <= 0) return;
  try {
    std::vector<Held> held;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const auto step = step_of(entry.path().filename().string());
      if (step) held.push_back({*step, is_complete(folder, *step)});
    }
    for (const auto step : superseded(held, current, keep)) {
      io::remove_file(cat(folder, "/", data_name(step)));
      io::remove_file(cat(folder, "/", manifest_name(step)));
    }
  } catch (const std::exception& error) {
    log::warn(cat("old checkpoints could not be removed: ", error.what()));
  }
}

}  // namespace

SaveResult save(const std::string& folder,
                std::int64_t step,
                const State& state,
                const Provenance& provenance,
                std::int64_t keep,
                comm::Communicator& communicator) {
  const Stopwatch watch;
  const bool first = communicator.rank() == 0;
  comm::agree_on(communicator, [&] { check_state(state); });
  comm::agree_equal(communicator,
                    layout_digest(state, step),
                    "names, types, shapes and scalars of a checkpoint");

  Temporary guard;
  Skeleton skeleton;
  comm::agree_on(communicator, [&] {
    if (first) skeleton = begin_file(folder, guard, data_name(step), state);
  });
  std::string temporary = guard.path;
  broadcast(skeleton, temporary, state.tensors.size(), communicator);

  Manifest manifest{.step = step,
                    .bytes = skeleton.file_bytes,
                    .ranks = provenance.ranks,
                    .lockstep_version = provenance.lockstep_version,
                    .torch_version = provenance.torch_version,
                    .bucket_order = provenance.bucket_order};
  const auto blocks = ceil_div(skeleton.file_bytes, kDigestBlockBytes);
  const auto owned = [&](int rank) { return part_of(blocks, communicator.ranks(), rank); };
  manifest.blocks.resize(static_cast<std::size_t>(blocks));
  comm::agree_on(communicator, [&] {
    write_blocks(temporary, skeleton, state, owned(communicator.rank()), manifest.blocks);
  });
  communicator.all_reduce(std::span(manifest.blocks),
                          comm::Op::kSum);  // one rank's digest and zeros

  comm::agree_on(communicator, [&] {
    const int neighbour = (communicator.rank() + communicator.ranks() - 1) % communicator.ranks();
    const auto wrong = compare_blocks(temporary, manifest.blocks, owned(neighbour), true);
    if (!wrong.empty())
      throw IoError(cat(temporary, ": read back after rank ", neighbour, " wrote it, ", wrong));
  });
  comm::agree_on(communicator, [&] {
    if (!first) return;
    publish(folder, temporary, manifest);
    guard.path.clear();
  });
  if (first) retain(folder, step, keep);
  return {data_name(step), skeleton.file_bytes, watch.ms()};
}

}  // namespace lockstep::checkpoint
