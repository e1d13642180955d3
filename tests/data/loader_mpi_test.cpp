// SPDX-License-Identifier: MIT
// The loader against values that HDF5 itself reads, for any number of ranks, threads and batches
// ahead.
#include "data/loader.hpp"

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "comm/agree.hpp"
#include "core/text.hpp"
#include "data/reader.hpp"
#include "data/shards.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"
#include "support/ranks.hpp"

namespace lockstep::data {
namespace {

using test::all_ranks;
using test::ScratchFolder;
using test::world;

void make(const std::function<void()>& work) {
  comm::agree_on(world(), [&] {
    if (world().rank() == 0) work();
  });
}

Share own_share() { return {world().ranks(), world().rank(), 1}; }

std::string packed(const ScratchFolder& scratch,
                   std::int64_t rows,
                   std::int64_t shards,
                   const test::Shape& shape = {3, 4, 4}) {
  make([&] { pack_idx(test::write_idx(scratch.path(), rows, shards, shape), {}); });
  return scratch / "out";
}

// What a sample should be, read by HDF5 and normalised in another way than the loader's.
struct Oracle {
  explicit Oracle(const DataSet& set) {
    for (const auto& shard : set.shards) {
      const auto file = io::H5File::open_to_read(shard.path);
      const auto count = static_cast<std::size_t>(shard.samples);
      std::vector<std::uint8_t> bytes(count * static_cast<std::size_t>(shard.input.sample_bytes));
      std::vector<std::int64_t> stored(count);
      file.read_rows(shard.input.dataset, 0, std::span(bytes));
      file.read_rows(shard.target.dataset, 0, std::span(stored));
      labels.insert(labels.end(), stored.begin(), stored.end());
      const auto channel_bytes = bytes.size() / count / set.channel_mean.size();
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto channel = i / channel_bytes % set.channel_mean.size();
        inputs.push_back(static_cast<float>((bytes[i] / 255.0 - set.channel_mean[channel]) /
                                            set.channel_std[channel]));
      }
    }
    elements = inputs.size() / labels.size();
  }
  bool fits(const Batch& batch) const {
    for (std::int64_t i = 0; i < batch.size(); ++i) {
      const auto id = static_cast<std::size_t>(batch.sample_ids[static_cast<std::size_t>(i)]);
      const float* row = batch.inputs.data_ptr<float>() + static_cast<std::size_t>(i) * elements;
      if (std::memcmp(row, inputs.data() + id * elements, 4 * elements) != 0) return false;
      if (batch.targets.data_ptr<std::int64_t>()[i] != labels[id]) return false;
    }
    return true;
  }
  std::vector<float> inputs;
  std::vector<std::int64_t> labels;
  std::size_t elements = 0;
};

// All bytes that a loader delivers in so many steps.
std::string stream(const DataSet& set,
                   const Sampler& sampler,
                   int threads,
                   int prefetch,
                   std::int64_t windows,
                   Position start = {}) {
  Loader loader(set,
                sampler,
                {.share = own_share(),
                 .start = start,
                 .windows = windows,
                 .reader_threads = threads,
                 .prefetch = prefetch});
  std::string out;
  while (auto loaded = loader.next()) {
    const auto& batch = loaded->batch;
    out.append(reinterpret_cast<const char*>(batch.sample_ids.data()), 8 * batch.sample_ids.size());
    out.append(static_cast<const char*>(batch.inputs.data_ptr()), batch.inputs.nbytes());
    out.append(static_cast<const char*>(batch.targets.data_ptr()), batch.targets.nbytes());
  }
  return out;
}

// Overwrites bytes in a file.
void poke(const std::string& path, std::int64_t offset, const std::string& bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(offset);
  file << bytes;
}

}  // namespace

TEST_CASE("All ranks together load each window's samples, with the values that HDF5 reads",
          "[data][mpi]") {
  const ScratchFolder scratch;
  const auto set = open_data_set(packed(scratch, 101, 4), world());
  const Oracle oracle(set);
  for (const auto shuffle : {Shuffle::kFull, Shuffle::kBlock, Shuffle::kNone}) {
    const Sampler sampler(
        {.samples = set.samples, .batch_size = 13, .seed = 5, .shuffle = shuffle});
    Loader loader(set,
                  sampler,
                  {.share = own_share(),
                   .windows = 2 * sampler.steps_per_epoch(),
                   .reader_threads = 2,
                   .prefetch = 3});
    Position at;
    bool values = true, ids = true;
    for (std::int64_t step = 0; step < 2 * sampler.steps_per_epoch(); ++step) {
      const auto loaded = loader.next();
      REQUIRE(all_ranks(loaded.has_value()));
      const auto window = sampler.window(at);
      values = values && oracle.fits(loaded->batch) &&
               loaded->batch.inputs.sizes()[0] == loaded->batch.size();
      std::string joined;
      for (const auto& part : world().all_gather(
               std::string(reinterpret_cast<const char*>(loaded->batch.sample_ids.data()),
                           8 * loaded->batch.sample_ids.size()))) {
        joined += part;
      }
      const auto expected = sampler.ids(window.epoch, window.positions);
      ids = ids && joined == std::string(reinterpret_cast<const char*>(expected.data()),
                                         8 * expected.size());
      ids = ids && loaded->window.next == window.next &&
            loaded->window.ends_epoch == window.ends_epoch;
      at = window.next;
    }
    CHECK(values);
    CHECK(ids);
    CHECK(at == Position{2, 0});
    CHECK_FALSE(loader.next().has_value());
    CHECK_FALSE(loader.next().has_value());
  }
}

TEST_CASE("Batches are the same bits for any number of reader threads and batches ahead",
          "[data][mpi][H15]") {
  const ScratchFolder scratch;
  const auto set = open_data_set(packed(scratch, 200, 3), world());
  const Sampler sampler({.samples = set.samples, .batch_size = 17, .seed = 2, .tail = Tail::kWrap});
  const auto expected = stream(set, sampler, 0, 1, 40);
  CHECK(expected.size() > 1000);
  for (const int threads : {1, 3}) {
    for (const int prefetch : {1, 2, 7})
      CHECK(stream(set, sampler, threads, prefetch, 40) == expected);
  }
}

TEST_CASE("A loader that starts in the middle of an epoch goes on with the same batches",
          "[data][mpi][S06][S07]") {
  const ScratchFolder scratch;
  const auto set = open_data_set(packed(scratch, 50, 2), world());
  const Sampler sampler({.samples = set.samples, .batch_size = 8, .seed = 2});
  const auto straight = stream(set, sampler, 1, 4, 20);
  Position at;
  for (int step = 0; step < 10; ++step) at = sampler.window(at).next;  // in epoch 1
  CHECK(at == Position{1, 24});
  CHECK(stream(set, sampler, 1, 4, 10) + stream(set, sampler, 2, 2, 10, at) == straight);
}

TEST_CASE("A rank without samples gets tensors of no rows", "[data][mpi]") {
  const ScratchFolder scratch;
  const auto set = open_data_set(packed(scratch, 5, 1), world());
  const Sampler sampler({.samples = set.samples, .batch_size = 2});
  Loader loader(set, sampler, {.share = {8, 7, 1}, .windows = 3});
  for (int step = 0; step < 3; ++step) {
    const auto loaded = loader.next();
    REQUIRE(all_ranks(loaded.has_value()));
    CHECK(loaded->batch.inputs.sizes() == torch::IntArrayRef({0, 3, 4, 4}));
    CHECK(loaded->batch.targets.sizes() == torch::IntArrayRef({0}));
    CHECK(loaded->batch.targets.scalar_type() == torch::kInt64);
    CHECK(loaded->batch.size() == 0);
  }
}

TEST_CASE("Float features and small labels arrive as they are, or normalised", "[data][mpi][H07]") {
  const ScratchFolder scratch;
  const auto write = [&](const char* name, bool normalised, std::vector<float> features) {
    make([&] {
      auto file = io::H5File::create(scratch / name);
      const std::vector<std::int32_t> labels = {2, 0, 1};
      const std::vector<double> mean = {1, 10}, deviation = {2, 0};
      file.write("inputs/x", {3, 2}, std::span<const float>(features));
      file.write("labels", {3}, std::span<const std::int32_t>(labels));
      if (normalised) file.set_attribute("/", "channel_mean", std::span<const double>(mean));
      if (normalised) file.set_attribute("/", "channel_std", std::span<const double>(deviation));
      file.close();
    });
    return open_data_set(scratch / name, world());
  };
  const auto inputs_of = [](const DataSet& set) {
    Loader loader(set,
                  Sampler({.samples = 3, .batch_size = 3, .shuffle = Shuffle::kNone}),
                  {.windows = 1});
    const auto loaded = loader.next();
    CHECK(loaded->batch.targets.equal(torch::tensor({2, 0, 1}, torch::kInt64)));
    return loaded->batch.inputs;
  };
  const std::vector<float> features = {1, 2, 3, 4, -5, 6.5};
  CHECK(inputs_of(write("plain.h5", false, features))
            .equal(torch::tensor({{1.0, 2.0}, {3.0, 4.0}, {-5.0, 6.5}}, torch::kFloat32)));
  CHECK(inputs_of(write("normal.h5", true, features))
            .equal(torch::tensor({{0.0, -8.0}, {1.0, -6.0}, {-3.0, -3.5}}, torch::kFloat32)));
  const auto bad = write("nan.h5", false, {1, 2, 3, std::nanf(""), 5, 6});
  const auto text = test::message_of([&] { inputs_of(bad); });
  CHECK(test::lacks(text, {"nan.h5", "inputs/x", "row 1", "not finite"}) == "");
}

TEST_CASE("A flipped bit is found when its sample is read, with file, dataset and row",
          "[data][mpi]") {
  const ScratchFolder scratch;
  const auto set = open_data_set(packed(scratch, 60, 3), world());
  const auto& shard = set.shards[1];
  const Sampler sampler({.samples = 60, .batch_size = 20, .shuffle = Shuffle::kNone});
  make([&] {
    poke(shard.path, shard.input.file_offset + 7 * shard.input.sample_bytes + 5, "\x55");
  });
  for (const int threads : {0, 1, 3}) {
    Loader loader(set, sampler, {.windows = 3, .reader_threads = threads, .prefetch = 3});
    CHECK(loader.next()->batch.size() == 20);
    const auto text = test::message_of([&] { loader.next(); });
    CHECK(test::lacks(
              text,
              {"data-00001-of-00003.h5", "images", "row 7 (sample 27)", "is damaged: digest "}) ==
          "");
    CHECK_THROWS_AS(loader.next(), DataError);  // and again: it does not step over the damage
  }
}

TEST_CASE("A label that changed under the run is found as well", "[data][mpi]") {
  const ScratchFolder scratch;
  make([&] { test::write_shard(scratch / "s.h5", 0, 10); });  // without digests
  const auto set = open_data_set(scratch / "s.h5", world());
  make([&] { poke(set.shards[0].path, set.shards[0].target.file_offset + 8 * 4, "\x63"); });
  Loader loader(set, Sampler({.samples = 10, .batch_size = 10}), {.windows = 1});
  CHECK(test::lacks(test::message_of([&] { loader.next(); }),
                    {"s.h5", "labels", "row 4", "99", "0 to 9"}) == "");
}

TEST_CASE("A shard that shrank or vanished under the run is named", "[data][mpi]") {
  const ScratchFolder scratch;
  const auto set = open_data_set(packed(scratch, 60, 3), world());
  const Sampler sampler({.samples = 60, .batch_size = 20, .shuffle = Shuffle::kNone});
  make([&] {
    std::filesystem::resize_file(set.shards[1].path, 4000);
    std::filesystem::remove(set.shards[2].path);
  });
  Loader shrunk(set, sampler, {.start = {0, 20}});
  CHECK(test::lacks(test::message_of([&] { shrunk.next(); }),
                    {"data-00001", "4000 bytes", "must not change"}) == "");
  Loader vanished(set, sampler, {.start = {0, 40}});
  CHECK_THROWS_AS(vanished.next(), MissingInputError);
}

TEST_CASE("A loader that is dropped at any moment ends at once", "[data][mpi]") {
  const ScratchFolder scratch;
  const auto set = open_data_set(packed(scratch, 200, 2), world());
  const Sampler sampler({.samples = 200, .batch_size = 50});
  for (int round = 0; round < 60; ++round) {
    Loader loader(
        set,
        sampler,
        {.share = own_share(), .reader_threads = 1 + round % 4, .prefetch = 1 + round % 3});
    for (int step = 0; step < round % 5; ++step) loader.next();
    if (round % 2 == 1) std::this_thread::sleep_for(std::chrono::microseconds(50 * round));
  }
  SUCCEED();
}

TEST_CASE("Few open files are enough for many shards", "[data][mpi]") {
  const ScratchFolder scratch;
  const auto set = open_data_set(packed(scratch, 40, 20), world());
  ShardFiles files(set, 3);
  const auto first = files.get(0);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t shard = 0; shard < 20; ++shard) CHECK(static_cast<bool>(*files.get(shard)));
  }
  CHECK(static_cast<bool>(*first));  // one in use stays open
  std::size_t open = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    open += std::filesystem::read_symlink(entry, gone).string().find(scratch.path().string()) == 0;
  }
  CHECK(open <= 4);
}

}  // namespace lockstep::data
