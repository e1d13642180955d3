// SPDX-License-Identifier: MIT
#include "data/loader.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/check.hpp"
#include "core/clock.hpp"
#include "data/reader.hpp"

namespace lockstep::data {
namespace {

// A place of the ring: window number n lives in place n % prefetch from the time a reader takes it
// until next() hands it out.
struct Place {
  bool ready = false;
  LoadedBatch loaded;
  std::exception_ptr failure;
};

}  // namespace

struct Loader::Impl {
  Impl(const DataSet& set, Sampler sampler, LoaderConfig config)
      : set(set),
        sampler(std::move(sampler)),
        config(std::move(config)),
        reader(set),
        cursor(this->config.start) {
    LOCKSTEP_ASSERT(this->config.prefetch >= 1 && this->config.reader_threads >= 0,
                    "prefetch ",
                    this->config.prefetch);
    ring.resize(static_cast<std::size_t>(this->config.prefetch));
    try {
      for (int i = 0; i < this->config.reader_threads; ++i)
        threads.emplace_back([this] { serve(); });
    } catch (...) {
      stop_threads();
      throw;
    }
  }
  ~Impl() { stop_threads(); }

  void stop_threads() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    room.notify_all();
    for (auto& thread : threads) thread.join();
  }

  bool exhausted(std::int64_t window) const { return config.windows && window >= *config.windows; }

  // The next window nobody has taken yet. With the lock held.
  Window take() {
    ++taken;
    auto window = sampler.window(cursor);
    cursor = window.next;
    return window;
  }

  LoadedBatch load(const Window& window) {
    LoadedBatch out{.batch = {}, .window = window};
    auto& batch = out.batch;
    batch.sample_ids = sampler.ids(window.epoch, share_of(window.positions, config.share));
    std::vector<std::int64_t> shape = set.sample_shape;
    shape.insert(shape.begin(), batch.size());
    batch.inputs = torch::empty(shape, torch::kFloat32);
    batch.targets = torch::empty({batch.size()}, torch::kInt64);
    reader.read(batch.sample_ids,
                {batch.inputs.data_ptr<float>(), static_cast<std::size_t>(batch.inputs.numel())},
                {batch.targets.data_ptr<std::int64_t>(), static_cast<std::size_t>(batch.size())});
    return out;
  }

  // A reader thread: no exception leaves it but through the ring.
  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      room.wait(lock,
                [&] { return stop || exhausted(taken) || taken < delivered + config.prefetch; });
      if (stop || exhausted(taken)) return;
      auto& place = ring[static_cast<std::size_t>(taken % config.prefetch)];
      const auto window = take();
      lock.unlock();
      LoadedBatch loaded;
      std::exception_ptr failure;
      try {
        loaded = load(window);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      place.loaded = std::move(loaded);
      place.failure = failure;
      place.ready = true;
      arrived.notify_one();
    }
  }

  std::optional<LoadedBatch> next() {
    if (exhausted(delivered)) return std::nullopt;
    const Stopwatch waited;
    if (threads.empty()) {
      auto loaded = load(sampler.window(cursor));  // the cursor stays where it is if this throws
      take();
      ++delivered;
      loaded.wait_ms = waited.ms();
      return loaded;
    }
    std::unique_lock lock(mutex);
    auto& place = ring[static_cast<std::size_t>(delivered % config.prefetch)];
    arrived.wait(lock, [&] { return place.ready; });
    if (place.failure) std::rethrow_exception(place.failure);  // stays: a second call throws again
    auto loaded = std::move(place.loaded);
    place = {};
    ++delivered;
    lock.unlock();
    room.notify_all();
    loaded.wait_ms = waited.ms();
    return loaded;
  }

  const DataSet& set;
  Sampler sampler;
  LoaderConfig config;
  SampleReader reader;

  std::mutex mutex;                 ///< guards all below but the threads
  std::condition_variable room;     ///< a place became free, or the end
  std::condition_variable arrived;  ///< a batch is ready
  Position cursor;
  std::int64_t taken = 0;      ///< windows that readers took
  std::int64_t delivered = 0;  ///< windows that next() handed out
  bool stop = false;
  std::vector<Place> ring;
  std::vector<std::thread> threads;
};

Loader::Loader(const DataSet& set, Sampler sampler, LoaderConfig config)
    : impl_(std::make_unique<Impl>(set, std::move(sampler), std::move(config))) {
  LOCKSTEP_ASSERT(set.samples == impl_->sampler.config().samples,
                  "set ",
                  set.samples,
                  " sampler ",
                  impl_->sampler.config().samples);
}
Loader::~Loader() = default;

std::optional<LoadedBatch> Loader::next() { return impl_->next(); }

}  // namespace lockstep::data
