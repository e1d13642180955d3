// SPDX-License-Identifier: MIT
// Files that no manifest vouches for reach the parser: loaded as what they are or refused, and
// nothing outside is followed.
#include <torch/types.h>

#include <functional>

#include "core/random.hpp"
#include "io/hdf5.hpp"
#include "states.hpp"
#include "support/catch.hpp"
#include "support/ranks.hpp"

using namespace lockstep;
using namespace lockstep::checkpoint;
using namespace lockstep::test;
namespace fs = std::filesystem;
using File = io::H5File;

TEST_CASE("hostile files without a manifest are refused by object and reason",
          "[checkpoint][mpi]") {
  const ScratchFolder folder;
  const auto path = (folder / "hostile.h5").string();
  State state{.tensors = {{"model/a", torch::zeros({4})}}, .scalars = {}};
  const auto refused = [&](const std::function<void(io::H5File&)>& make,
                           const std::string& reason) {
    if (world().rank() == 0) {
      fs::remove(path);
      auto file = io::H5File::create(path);
      make(file);
      file.close();
    }
    world().barrier();
    return expect_error(
        world(),
        [&] { load(path, state, world()); },
        ExitCode::kBadData,
        reason);
  };
  const std::vector<float> four(4);
  const auto good = [&](io::H5File& file) {
    file.write<float>("/model/a", {4}, four);
    file.set_attribute("/model/a", "torch_dtype", std::string("fp32"));
  };
  REQUIRE(refused([&](File& f) { good(f); }, "is not a checkpoint: meta/format is missing"));
  REQUIRE(refused([&](File& f) { f.write<float>("/model/a", {4}, four); },
                  "has a shape and no attribute torch_dtype"));
  REQUIRE(refused(
      [&](File& f) {
        f.write<float>("/model/a", {4}, four);
        f.set_attribute("/model/a", "torch_dtype", std::string("bf16"));
      },
      "is float32 in HDF5 and 'bf16' by its attribute"));
  REQUIRE(refused(
      [&](File& f) {
        good(f);
        H5Lcreate_soft("/model/a", f.id(), "/b", H5P_DEFAULT, H5P_DEFAULT);
      },
      "b: soft and external links are not allowed"));
  REQUIRE(refused(
      [&](File& f) {
        H5Lcreate_external("/etc/passwd", "/", f.id(), "/b", H5P_DEFAULT, H5P_DEFAULT);
      },
      "b: soft and external links are not allowed"));
  REQUIRE(refused(
      [&](File& f) {
        f.make_group("/a/b");
        H5Lcreate_hard(f.id(), "/a", f.id(), "/a/b/c", H5P_DEFAULT, H5P_DEFAULT);
      },
      "in a circle"));
  REQUIRE(refused(
      [&](File& f) {
        const hsize_t size = 4;
        const io::H5Id list(H5Pcreate(H5P_DATASET_CREATE)),
            space(H5Screate_simple(1, &size, nullptr));
        H5Pset_external(list.get(), "/etc/passwd", 0, 16);
        io::H5Id(H5Dcreate2(f.id(),
                            "/a",
                            H5T_NATIVE_FLOAT,
                            space.get(),
                            H5P_DEFAULT,
                            list.get(),
                            H5P_DEFAULT));
      },
      "data in external files is not allowed"));
  REQUIRE(refused(
      [&](File& f) {
        const hsize_t size = 4;
        const io::H5Id list(H5Pcreate(H5P_DATASET_CREATE)),
            space(H5Screate_simple(1, &size, nullptr));
        H5Pset_chunk(list.get(), 1, &size);
        io::H5Id(H5Dcreate2(f.id(),
                            "/a",
                            H5T_NATIVE_FLOAT,
                            space.get(),
                            H5P_DEFAULT,
                            list.get(),
                            H5P_DEFAULT));
      },
      "its layout is not contiguous"));
}

TEST_CASE("mutated files without a manifest load as something or are refused, and never crash",
          "[checkpoint][mpi]") {
  const ScratchFolder folder;
  auto state = small_state(8);
  save(folder.path().string(), 1, state, {}, 0, world());
  const auto good = bytes_of((folder / "step-00000001.h5").string());
  const auto path = (folder / "mutant.h5").string();
  int refused = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    if (world().rank() == 0) {
      auto changed = good;
      const auto at = random_bits(8, Purpose::kTest, i) % (i % 2 ? changed.size() : 2048);
      changed[at] = static_cast<char>(random_bits(9, Purpose::kTest, i));
      write_bytes(path, changed);
    }
    world().barrier();
    auto loaded = blank_like(state);
    try {
      load(path, loaded, world());
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kBadData);
      ++refused;
    }
  }
  CHECK(refused > 0);
  REQUIRE(all_ranks(true));
}
