// SPDX-License-Identifier: MIT
// Samples from open shards by pread: merged reads, digests checked, values converted and normalised
// on the way. Knows neither tensors nor HDF5.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "data/dataset.hpp"
#include "io/file.hpp"

namespace lockstep::data {

/// The shards' files, opened on first use; the longest unused is closed when too many are open. Any
/// thread.
class ShardFiles {
 public:
  explicit ShardFiles(const DataSet& set, std::size_t most_open = 256)
      : set_(set), open_(set.shards.size()), most_open_(most_open) {}
  /// Throws DataError where the file's length is no longer the one that was checked.
  std::shared_ptr<const io::Fd> get(std::size_t shard);

 private:
  struct Slot {
    std::shared_ptr<const io::Fd> fd;
    std::uint64_t used = 0;
  };
  const DataSet& set_;
  std::mutex mutex_;
  std::vector<Slot> open_;
  std::size_t most_open_;
  std::size_t count_ = 0;
  std::uint64_t clock_ = 0;
};

/// Stored values to fp32: (x / 255 - mean) / deviation for uint8, (x - mean) / deviation for
/// float32, per channel; the values as they are where the set has no channel figures. A deviation
/// of 0 counts as 1.
class Normaliser {
 public:
  explicit Normaliser(const DataSet& set);
  /// One sample. False where a float32 value is not finite.
  bool convert(std::span<const std::byte> stored, std::span<float> out) const;

 private:
  std::int64_t channels_ = 1;
  std::int64_t channel_elements_ = 1;
  bool bytes_ = true;
  std::vector<float> table_;             ///< uint8: 256 results per channel
  std::vector<float> mean_, deviation_;  ///< float32; empty: copy
};

/// Thread-safe: scratch memory belongs to the call. The data set must outlive it.
class SampleReader {
 public:
  explicit SampleReader(const DataSet& set);
  std::int64_t elements() const { return elements_; }

  /// Sample ids[i] goes to inputs[i * elements(), ...) and targets[i]. Ids may repeat and come in
  /// any order; reads are sorted and neighbours merged. Throws DataError with file, dataset and row
  /// (digest, not finite, label out of range), IoError.
  void read(std::span<const std::int64_t> ids,
            std::span<float> inputs,
            std::span<std::int64_t> targets);

 private:
  struct Want;
  struct Scratch;
  void read_run(std::span<const Want> run,
                std::size_t shard,
                std::span<float> inputs,
                std::span<std::int64_t> targets,
                Scratch& scratch);
  std::size_t shard_of(std::int64_t id) const;

  const DataSet& set_;
  ShardFiles files_;
  Normaliser normaliser_;
  std::vector<std::int64_t> ends_;  ///< one past the last id of each shard
  std::int64_t elements_ = 1;
};

}  // namespace lockstep::data
