// SPDX-License-Identifier: MIT
// Every kind of damaged, hostile or unfitting shard is refused with the same text and exit code on
// every rank.
#include <sys/stat.h>

#include <filesystem>

#include "data/opening.hpp"
#include "support/catch.hpp"

namespace lockstep::data {
namespace {

void expect_refusal(const char* name,
                    const std::function<void(const std::string&)>& spoil,
                    std::vector<std::string> fragments,
                    ExitCode code = ExitCode::kBadData) {
  const ScratchFolder scratch;
  fragments.push_back("s2.h5");
  const auto folder = folder_with(scratch, name, spoil);
  CHECK(refused(folder, code, fragments));
}

// A shard whose images are `what`, beside good labels.
std::function<void(const std::string&)> with_images(
    const std::function<void(RawDataset&)>& change) {
  return [change](const std::string& path) {
    const RawFile file(path);
    RawDataset images{.list = H5Pcreate(H5P_DATASET_CREATE)};
    change(images);
    add(file, "images", images);
    add_labels(file);
    H5Pclose(images.list);
  };
}

// A filter that this build has while the file is written and no longer when it is read.
void with_foreign_filter(const std::string& path) {
  constexpr H5Z_filter_t kLzf = 32000;
  const H5Z_class2_t filter = {
      H5Z_CLASS_T_VERS,
      kLzf,
      1,
      1,
      "lzf",
      nullptr,
      nullptr,
      [](unsigned, size_t, const unsigned*, size_t bytes, size_t*, void**) { return bytes; }};
  H5Zregister(&filter);
  with_images([](RawDataset& images) {
    const hsize_t chunk[] = {10, 1, 4, 4};
    H5Pset_chunk(images.list, 4, chunk);
    H5Pset_filter(images.list, kLzf, 0, 0, nullptr);
  })(path);
  H5Zunregister(kLzf);
}

}  // namespace

TEST_CASE("A wrong name in one shard lists the names that are there", "[data][mpi][H01]") {
  expect_refusal("names",
                 [](const std::string& path) {
                   const RawFile file(path);
                   add(file, "imgs", {});
                   add_labels(file);
                 },
                 {"no dataset 'images'", "imgs, labels"});
}

TEST_CASE("A truncated shard is found when the set is opened", "[data][mpi][H02]") {
  expect_refusal("cut",
                 [](const std::string& path) {
                   test::write_shard(path, 20, 10);
                   std::filesystem::resize_file(path, std::filesystem::file_size(path) - 100);
                 },
                 {"truncated", "bytes found", "expected"});
}

TEST_CASE("What is no HDF5 file is refused in one line", "[data][mpi][H03]") {
  expect_refusal("empty", [](const std::string& path) { test::write_file(path, ""); }, {"empty"});
  expect_refusal("text",
                 [](const std::string& path) { test::write_file(path, "these are no samples"); },
                 {"not an HDF5 file"});
  expect_refusal("folder",
                 [](const std::string& path) { std::filesystem::create_directory(path); },
                 {"folder"});
  expect_refusal("fifo",
                 [](const std::string& path) { ::mkfifo(path.c_str(), 0600); },
                 {"regular file"});
  expect_refusal(
      "link",
      [](const std::string& path) { std::filesystem::create_symlink("/etc/hostname", path); },
      {"symbolic link"});
}

TEST_CASE("Stored forms that are not read directly are refused by name", "[data][mpi][H04]") {
  expect_refusal("lzf", with_foreign_filter, {"images", "filter 'lzf' (id 32000)"});
  expect_refusal("chunked",
                 with_images([](RawDataset& images) {
                   const hsize_t chunk[] = {1, 1, 4, 4};
                   H5Pset_chunk(images.list, 4, chunk);
                 }),
                 {"images", "chunked", "contiguous"});
  expect_refusal("compact",
                 with_images([](RawDataset& images) { H5Pset_layout(images.list, H5D_COMPACT); }),
                 {"images", "compact"});
  expect_refusal("big",
                 with_images([](RawDataset& images) { images.type = H5T_IEEE_F32BE; }),
                 {"images", "float32 big-endian", "native"});
  expect_refusal("float64",
                 with_images([](RawDataset& images) { images.type = H5T_NATIVE_DOUBLE; }),
                 {"images", "float64", "uint8 or float32"});
  expect_refusal("late",
                 with_images([](RawDataset& images) { images.fill = false; }),
                 {"images", "[10, 1, 4, 4]", "0 stored bytes"});
}

TEST_CASE("A hostile shard cannot reach out of its file", "[data][mpi]") {
  expect_refusal("external",
                 with_images([](RawDataset& images) {
                   H5Pset_external(images.list, "/etc/passwd", 0, 160);
                   images.fill = false;
                 }),
                 {"images", "other file"});
  expect_refusal("soft",
                 [](const std::string& path) {
                   const RawFile file(path);
                   add(file, "other", {});
                   H5Lcreate_soft("/other", file.id, "images", H5P_DEFAULT, H5P_DEFAULT);
                   add_labels(file);
                 },
                 {"images", "soft link"});
  expect_refusal(
      "elsewhere",
      [](const std::string& path) {
        const RawFile file(path);
        H5Lcreate_external("s1.h5", "/images", file.id, "images", H5P_DEFAULT, H5P_DEFAULT);
        add_labels(file);
      },
      {"images", "external link"});
  expect_refusal("group",
                 [](const std::string& path) {
                   const RawFile file(path);
                   H5Gclose(H5Gcreate2(file.id, "images", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
                   add_labels(file);
                 },
                 {"images", "not a dataset"});
  expect_refusal("bomb",
                 with_images([](RawDataset& images) {
                   images.shape = {hsize_t{1} << 42, 1, 4, 4};
                   images.fill = false;
                 }),
                 {"images", "claims shape [4398046511104, 1, 4, 4]"});
  expect_refusal("user_block",
                 [](const std::string& path) {
                   const hid_t list = H5Pcreate(H5P_FILE_CREATE);
                   H5Pset_userblock(list, 512);
                   { const RawFile file(path, list); }
                   H5Pclose(list);
                 },
                 {"not an HDF5 file"});
  expect_refusal("text",
                 with_images([](RawDataset& images) {
                   images.type = H5T_C_S1;
                   images.fill = false;
                 }),
                 {"images", "string"});
}

TEST_CASE("Shards that do not fit together are refused with both shapes", "[data][mpi][H14]") {
  expect_refusal("rows",
                 [](const std::string& path) {
                   const RawFile file(path);
                   add(file, "images", {});
                   add_labels(file, 9);
                 },
                 {"images has shape [10, 1, 4, 4]", "labels has shape [9]"});
  expect_refusal("shape",
                 [](const std::string& path) {
                   test::write_shard(path, 20, 10, {1, 4, 5});
                 },
                 {"s0.h5", "uint8 [1, 4, 5]", "uint8 [1, 4, 4]"});
  expect_refusal("rank",
                 [](const std::string& path) {
                   test::write_shard(path, 20, 10, {4, 4});
                 },
                 {"s0.h5", "uint8 [4, 4]"});
  expect_refusal("scalar",
                 with_images([](RawDataset& images) { images.shape = {}; }),
                 {"images", "[]"});
  expect_refusal("vector",
                 with_images([](RawDataset& images) { images.shape = {10}; }),
                 {"images", "[N, F]"});
  expect_refusal("labels",
                 [](const std::string& path) {
                   const RawFile file(path);
                   add(file, "images", {});
                   add(file, "labels", {.type = H5T_NATIVE_FLOAT, .shape = {10}});
                 },
                 {"labels", "float32", "integer"});
}

}  // namespace lockstep::data
