// SPDX-License-Identifier: MIT
// Batches ahead of the step: reader threads take window after window, pread this rank's samples and
// convert and normalise them in the same pass. No HDF5 call happens here, so that threads and
// checkpoints never meet in that library.
#pragma once

#include <memory>
#include <optional>

#include "data/dataset.hpp"
#include "data/sampler.hpp"
#include "tensor/batch.hpp"

namespace lockstep::data {

struct LoaderConfig {
  Share share;
  Position start;
  std::optional<std::int64_t> windows;  ///< how many windows to deliver; none: for ever
  int reader_threads = 1;               ///< 0: read in next()
  int prefetch = 4;                     ///< batches ready ahead of the step
};

/// One step's data for this rank.
struct LoadedBatch {
  Batch batch;
  Window window;
  double wait_ms = 0;  ///< how long next() had to wait
};

/// Not thread-safe: one consumer. The data set must outlive it. The destructor stops the readers.
class Loader {
 public:
  Loader(const DataSet& set, Sampler sampler, LoaderConfig config);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The next window's part, in order; none after the last. What a reader threw (IoError, DataError
  /// with file and sample) is thrown here.
  std::optional<LoadedBatch> next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::data
