// SPDX-License-Identifier: MIT
#include "data/reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/check.hpp"
#include "core/digest.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "data/columns.hpp"

namespace lockstep::data {
namespace {

constexpr std::int64_t kMaxRunBytes = 1 << 20;  // of one merged read

}  // namespace

std::shared_ptr<const io::Fd> ShardFiles::get(std::size_t shard) {
  const std::lock_guard lock(mutex_);
  auto& slot = open_[shard];
  slot.used = ++clock_;
  if (slot.fd) return slot.fd;
  if (count_ == most_open_) {
    const auto older = [](const Slot& a, const Slot& b) {
      return (a.fd ? a.used : UINT64_MAX) < (b.fd ? b.used : UINT64_MAX);
    };
    std::min_element(open_.begin(), open_.end(), older)
        ->fd.reset();  // reads in flight keep their own reference
    --count_;
  }
  const auto& expected = set_.shards[shard];
  auto fd = std::make_shared<const io::Fd>(io::open_to_read(expected.path));
  const auto bytes = io::file_bytes(*fd, expected.path);
  if (bytes != expected.file_bytes) {
    throw DataError(cat(expected.path,
                        ": has ",
                        bytes,
                        " bytes, ",
                        expected.file_bytes,
                        " when the run started; shards must not change under a run"));
  }
  slot.fd = std::move(fd);
  ++count_;
  return slot.fd;
}

Normaliser::Normaliser(const DataSet& set) : bytes_(set.input_dtype == "uint8") {
  const bool plain = set.channel_mean.empty();
  channels_ = plain ? 1 : set.sample_shape.front();
  for (const auto extent : set.sample_shape) channel_elements_ *= extent;
  channel_elements_ /= channels_;
  const double scale = plain ? 1.0 : 255.0;
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels_); ++c) {
    const double mean = plain ? 0.0 : set.channel_mean[c];
    const double deviation = plain || set.channel_std[c] == 0 ? 1.0 : set.channel_std[c];
    if (bytes_) {
      for (int x = 0; x < 256; ++x)
        table_.push_back(static_cast<float>((x / scale - mean) / deviation));
    } else if (!plain) {
      mean_.push_back(static_cast<float>(mean));
      deviation_.push_back(static_cast<float>(deviation));
    }
  }
}

bool Normaliser::convert(std::span<const std::byte> stored, std::span<float> out) const {
  if (bytes_) {
    const auto* in = reinterpret_cast<const unsigned char*>(stored.data());
    float* to = out.data();
    for (std::int64_t c = 0; c < channels_; ++c) {
      const float* table = table_.data() + 256 * c;
      for (std::int64_t i = 0; i < channel_elements_; ++i) *to++ = table[*in++];
    }
    return true;
  }
  std::memcpy(out.data(), stored.data(), stored.size());
  if (!std::all_of(out.begin(), out.end(), [](float x) { return std::isfinite(x); })) return false;
  for (std::size_t c = 0; c < mean_.size(); ++c) {
    for (auto& x : out.subspan(c * static_cast<std::size_t>(channel_elements_),
                               static_cast<std::size_t>(channel_elements_))) {
      x = (x - mean_[c]) / deviation_[c];
    }
  }
  return true;
}

struct SampleReader::Want {
  std::int64_t id;
  std::size_t slot;  ///< place in the batch
};

struct SampleReader::Scratch {
  std::vector<std::byte> inputs, labels, digests, sample;
};

SampleReader::SampleReader(const DataSet& set) : set_(set), files_(set), normaliser_(set) {
  for (const auto& shard : set.shards) ends_.push_back(shard.first_id + shard.samples);
  for (const auto extent : set.sample_shape) elements_ *= extent;
}

std::size_t SampleReader::shard_of(std::int64_t id) const {
  return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), id) - ends_.begin());
}

void SampleReader::read(std::span<const std::int64_t> ids,
                        std::span<float> inputs,
                        std::span<std::int64_t> targets) {
  LOCKSTEP_ASSERT(inputs.size() == ids.size() * static_cast<std::size_t>(elements_) &&
                      targets.size() == ids.size(),
                  inputs.size(),
                  " ",
                  targets.size());
  std::vector<Want> wants(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    LOCKSTEP_ASSERT(ids[i] >= 0 && ids[i] < set_.samples, "sample ", ids[i], " of ", set_.samples);
    wants[i] = {ids[i], i};
  }
  std::sort(wants.begin(), wants.end(), [](const Want& a, const Want& b) {
    return a.id < b.id || (a.id == b.id && a.slot < b.slot);
  });
  Scratch scratch;
  const auto sample_bytes = set_.shards.front().input.sample_bytes;
  const auto most_rows = std::max<std::int64_t>(1, kMaxRunBytes / sample_bytes);
  for (std::size_t begin = 0; begin < wants.size();) {
    const auto shard = shard_of(wants[begin].id);
    const auto limit = std::min(ends_[shard], wants[begin].id + most_rows);
    std::size_t end = begin + 1;
    while (end < wants.size() && wants[end].id <= wants[end - 1].id + 1 && wants[end].id < limit)
      ++end;
    read_run(std::span(wants).subspan(begin, end - begin), shard, inputs, targets, scratch);
    begin = end;
  }
}

void SampleReader::read_run(std::span<const Want> run,
                            std::size_t index,
                            std::span<float> inputs,
                            std::span<std::int64_t> targets,
                            Scratch& scratch) {
  const auto& shard = set_.shards[index];
  const auto fd = files_.get(index);
  const std::int64_t first = run.front().id - shard.first_id;
  const std::int64_t rows = run.back().id - run.front().id + 1;
  const auto fetch =
      [&](std::vector<std::byte>& into, std::int64_t offset, std::int64_t row_bytes) {
        into.resize(static_cast<std::size_t>(rows * row_bytes));
        io::pread_all(*fd, into, offset + first * row_bytes, shard.path);
      };
  fetch(scratch.inputs, shard.input.file_offset, shard.input.sample_bytes);
  fetch(scratch.labels, shard.target.file_offset, shard.target.sample_bytes);
  if (shard.digests_offset >= 0) fetch(scratch.digests, shard.digests_offset, 8);

  const auto elements = static_cast<std::size_t>(elements_);
  const auto input_bytes = static_cast<std::size_t>(shard.input.sample_bytes);
  const auto label_bytes = static_cast<std::size_t>(shard.target.sample_bytes);
  for (const auto& want : run) {
    const auto row = static_cast<std::size_t>(want.id - run.front().id);
    const auto stored =
        std::span<const std::byte>(scratch.inputs).subspan(row * input_bytes, input_bytes);
    const auto label =
        std::span<const std::byte>(scratch.labels).subspan(row * label_bytes, label_bytes);
    const auto complain = [&](const std::string& dataset, const std::string& what) {
      throw DataError(cat(shard.path,
                          ", ",
                          dataset,
                          ": row ",
                          first + static_cast<std::int64_t>(row),
                          " (sample ",
                          want.id,
                          ") ",
                          what));
    };
    if (shard.digests_offset >= 0) {
      std::uint64_t expected = 0;
      std::memcpy(&expected, scratch.digests.data() + 8 * row, 8);
      const auto found = sample_digest(stored, label, scratch.sample);
      if (found != expected)
        complain(shard.input.dataset,
                 cat("is damaged: digest ",
                     hex(found),
                     ", expected ",
                     hex(expected),
                     "; copy or pack the shard again"));
    }
    auto& target = targets[want.slot];
    decode_labels(label, shard.target.dtype, std::span(&target, 1));
    if (target < 0 || target >= set_.num_classes)
      complain(shard.target.dataset,
               cat("holds the label ", target, "; legal are 0 to ", set_.num_classes - 1));
    if (!normaliser_.convert(stored, inputs.subspan(want.slot * elements, elements)))
      complain(shard.input.dataset, "holds a value that is not finite");
  }
}

}  // namespace lockstep::data
