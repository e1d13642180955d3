// SPDX-License-Identifier: MIT
#include "data/pack.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <optional>

#include "core/clock.hpp"
#include "core/digest.hpp"
#include "core/error.hpp"
#include "core/partition.hpp"
#include "core/text.hpp"
#include "data/columns.hpp"
#include "data/idx.hpp"
#include "data/index.hpp"
#include "data/survey.hpp"
#include "io/file.hpp"
#include "io/hdf5.hpp"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

// One shard while it is being filled.
class ShardWriter {
 public:
  ShardWriter(const std::string& path,
              const PackOptions& options,
              const Survey& survey,
              std::int64_t index)
      : file_(io::H5File::create(path)),
        rows_(part_of(static_cast<std::int64_t>(survey.labels.size()), options.shards, index)) {
    auto shape = survey.sample_shape;
    shape.insert(shape.begin(), rows_.size());
    file_.create_dataset("images", io::H5Type::kUInt8, shape);
    labels_.assign(survey.labels.begin() + rows_.begin, survey.labels.begin() + rows_.end);
    set_attributes(options, survey, index);
  }
  Range rows() const { return rows_; }

  // Samples that follow those written before.
  void add(std::span<const std::uint8_t> values, std::int64_t row_bytes) {
    file_.write_rows("images", written_, values);
    for (std::size_t at = 0; at < values.size(); at += static_cast<std::size_t>(row_bytes)) {
      const auto label = std::as_bytes(std::span(&labels_[static_cast<std::size_t>(written_)], 1));
      digests_.push_back(
          sample_digest(std::as_bytes(values.subspan(at, static_cast<std::size_t>(row_bytes))),
                        label,
                        scratch_));
      ++written_;
    }
  }

  void finish() {
    std::vector<std::uint64_t> ids(labels_.size());
    std::iota(ids.begin(), ids.end(), static_cast<std::uint64_t>(rows_.begin));
    file_.write("labels", {rows_.size()}, std::span<const std::int64_t>(labels_));
    file_.write("sample_id", {rows_.size()}, std::span<const std::uint64_t>(ids));
    file_.write("xxh3", {rows_.size()}, std::span<const std::uint64_t>(digests_));
    file_.close();
  }

 private:
  void set_attributes(const PackOptions& options, const Survey& survey, std::int64_t index) {
    file_.set_attribute("/", "format", std::string("lockstep-shard"));
    file_.set_attribute("/", "format_version", std::int64_t{1});
    file_.set_attribute("/", "split", options.split);
    file_.set_attribute("/", "shard_index", index);
    file_.set_attribute("/", "shard_count", options.shards);
    file_.set_attribute("/", "first_global_id", rows_.begin);
    file_.set_attribute("/", "num_classes", static_cast<std::int64_t>(survey.class_counts.size()));
    if (!options.class_names.empty())
      file_.set_attribute("/", "class_names", std::span<const std::string>(options.class_names));
    file_.set_attribute("/", "channel_mean", std::span<const double>(survey.mean));
    file_.set_attribute("/", "channel_std", std::span<const double>(survey.deviation));
    if (survey.sample_shape.size() == 3) file_.set_attribute("/", "layout", std::string("NCHW"));
    if (!options.source.empty()) file_.set_attribute("/", "source", options.source);
    if (!options.licence.empty()) file_.set_attribute("/", "licence", options.licence);
  }

  io::H5File file_;
  Range rows_;
  std::int64_t written_ = 0;
  std::vector<std::int64_t> labels_;
  std::vector<std::uint64_t> digests_;
  std::vector<std::byte> scratch_;
};

std::string shard_name(const PackOptions& options, std::int64_t index) {
  std::array<char, 40> text;
  std::snprintf(text.data(),
                text.size(),
                "-%05lld-of-%05lld.h5",
                static_cast<long long>(index),
                static_cast<long long>(options.shards));
  return cat(options.name, text.data());
}

// Flushes a finished file and returns what index.json says of it.
Index::Entry seal(const std::string& path, std::int64_t samples) {
  const auto fd = io::open_to_read(path);
  io::sync_file(fd, path);
  Index::Entry entry{.file = io::name_of(path),
                     .samples = samples,
                     .bytes = io::file_bytes(fd, path)};
  std::vector<std::uint64_t> blocks;
  std::vector<std::byte> block;
  for (std::int64_t at = 0; at < entry.bytes; at += kDigestBlockBytes) {
    block.resize(static_cast<std::size_t>(std::min(kDigestBlockBytes, entry.bytes - at)));
    io::pread_all(fd, block, at, path);
    blocks.push_back(digest(block));
  }
  entry.digest = hex(digest_of_blocks(blocks));
  return entry;
}

std::vector<Index::Entry> write_shards(const PackOptions& options,
                                       const Survey& survey,
                                       const std::string& folder,
                                       const Progress& progress) {
  std::vector<Index::Entry> entries;
  std::optional<ShardWriter> writer;
  IdxFile images(options.idx_images);
  const auto row_bytes = images.row_bytes();
  if (sample_shape_of(images) != survey.sample_shape ||
      images.rows() != static_cast<std::int64_t>(survey.labels.size())) {
    throw DataError(cat(options.idx_images, ": changed while it was read"));
  }
  for_pieces(images, [&](std::int64_t first, std::span<const std::uint8_t> values) {
    const auto end = first + static_cast<std::int64_t>(values.size()) / row_bytes;
    for (auto row = first; row < end;) {
      const auto index = static_cast<std::int64_t>(entries.size());
      const auto path = (fs::path(folder) / shard_name(options, index)).string();
      if (!writer) writer.emplace(path, options, survey, index);
      const auto stop = std::min(end, writer->rows().end);
      writer->add(values.subspan(static_cast<std::size_t>((row - first) * row_bytes),
                                 static_cast<std::size_t>((stop - row) * row_bytes)),
                  row_bytes);
      row = stop;
      if (row < writer->rows().end) continue;
      writer->finish();
      entries.push_back(seal(path, writer->rows().size()));
      writer.reset();
    }
    if (progress) progress(images.rows() + end, 2 * images.rows());
  });
  return entries;
}

void refuse_options(const PackOptions& options) {
  if (options.shards < 1 || options.shards > 99999)
    throw UsageError(cat("--shards ", options.shards, "; needed: 1 to 99999"));
  if (options.name.empty() || options.name.find('/') != std::string::npos)
    throw UsageError(cat("shard name '", options.name, "' is not a plain file name"));
  std::error_code error;
  if (!fs::exists(options.out, error)) return;
  if (!fs::is_directory(options.out, error))
    throw CannotCreateError(cat(options.out, ": is a file; needed: a new or empty folder"));
  if (!fs::is_empty(options.out, error) || error)
    throw CannotCreateError(
        cat(options.out, ": is not empty; nothing is overwritten, name a new folder"));
}

// Removes the temporary folder unless the pack was published.
struct Unfinished {
  std::string folder;
  ~Unfinished() {
    std::error_code ignored;
    if (!folder.empty()) fs::remove_all(folder, ignored);
  }
};

}  // namespace

PackSummary pack_idx(const PackOptions& options, const Progress& progress) {
  const Stopwatch watch;
  refuse_options(options);
  const auto survey = survey_input(options, progress);
  auto out = options.out;
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  io::make_folders(io::folder_of(out));
  Unfinished unfinished{io::temporary_name(out)};
  io::make_folders(unfinished.folder);

  Index index{.split = options.split,
              .num_classes = static_cast<std::int64_t>(survey.class_counts.size()),
              .dtype = "uint8",
              .shape = survey.sample_shape,
              .class_names = options.class_names,
              .channel_mean = survey.mean,
              .channel_std = survey.deviation};
  index.shards = write_shards(options, survey, unfinished.folder, progress);
  const auto text = print_index(index);
  io::publish_text((fs::path(unfinished.folder) / kIndexName).string(), text);
  io::sync_folder(unfinished.folder);
  io::rename_file(unfinished.folder, out);
  unfinished.folder.clear();
  io::sync_folder(io::folder_of(out));

  PackSummary summary{.samples = static_cast<std::int64_t>(survey.labels.size()),
                      .bytes_in = survey.bytes_in,
                      .bytes_out = static_cast<std::int64_t>(text.size()),
                      .sample_shape = survey.sample_shape,
                      .class_counts = survey.class_counts,
                      .channel_mean = survey.mean,
                      .channel_std = survey.deviation};
  for (const auto& entry : index.shards) summary.bytes_out += entry.bytes;
  summary.seconds = watch.seconds();
  return summary;
}

}  // namespace lockstep::data
