// SPDX-License-Identifier: MIT
// For tests that open data sets on several ranks: files made by rank 0, refusals that all ranks
// share.
#pragma once

#include <hdf5.h>

#include <functional>
#include <string>
#include <vector>

#include "comm/agree.hpp"
#include "core/text.hpp"
#include "data/dataset.hpp"
#include "data/shards.hpp"
#include "support/ranks.hpp"

namespace lockstep::data {

using test::ScratchFolder;
using test::world;

/// Rank 0 makes files, all go on when they are there.
inline void make(const std::function<void()>& work) {
  comm::agree_on(world(), [&] {
    if (world().rank() == 0) work();
  });
}

/// Opening fails on all ranks alike, and the text holds all fragments.
inline bool refused(const std::string& path,
                    ExitCode code,
                    const std::vector<std::string>& fragments,
                    std::int64_t num_classes = 0) {
  bool good = true;
  for (const auto& fragment : fragments) {
    good = test::expect_error(
               world(),
               [&] { open_data_set(path, world(), num_classes); },
               code,
               fragment) &&
           good;
  }
  return good;
}

/// A folder of four good shards of which one, dealt to another rank for each number of ranks, is
// made by `spoil`.
inline std::string folder_with(const ScratchFolder& scratch,
                               const std::string& name,
                               const std::function<void(const std::string&)>& spoil) {
  const std::string folder = scratch / name;
  make([&] {
    std::filesystem::create_directory(folder);
    for (std::int64_t i = 0; i < 4; ++i) {
      const auto path = cat(folder, "/s", i, ".h5");
      if (i == 2)
        spoil(path);
      else
        test::write_shard(path, 10 * i, 10);
    }
  });
  return folder;
}

/// A file made with HDF5's own calls.
struct RawFile {
  explicit RawFile(const std::string& path, hid_t create_list = H5P_DEFAULT)
      : id(H5Fcreate(path.c_str(), H5F_ACC_EXCL, create_list, H5P_DEFAULT)) {}
  ~RawFile() { H5Fclose(id); }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;
  hid_t id;
};

struct RawDataset {
  hid_t type = H5T_NATIVE_UINT8;
  std::vector<hsize_t> shape = {10, 1, 4, 4};
  hid_t list = H5P_DEFAULT;
  bool fill = true;
};

inline void add(const RawFile& file, const char* name, const RawDataset& what) {
  const hid_t space =
      what.shape.empty()
          ? H5Screate(H5S_SCALAR)
          : H5Screate_simple(static_cast<int>(what.shape.size()), what.shape.data(), nullptr);
  const hid_t dataset =
      H5Dcreate2(file.id, name, what.type, space, H5P_DEFAULT, what.list, H5P_DEFAULT);
  if (what.fill) {
    const std::vector<std::int64_t> zeros(1000);
    H5Dwrite(dataset,
             H5Tget_class(what.type) == H5T_FLOAT ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64,
             H5S_ALL,
             H5S_ALL,
             H5P_DEFAULT,
             zeros.data());
  }
  H5Dclose(dataset);
  H5Sclose(space);
}

inline void add_labels(const RawFile& file, hsize_t rows = 10) {
  add(file, "labels", {.type = H5T_NATIVE_INT64, .shape = {rows}});
}

}  // namespace lockstep::data
