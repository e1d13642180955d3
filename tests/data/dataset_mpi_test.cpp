// SPDX-License-Identifier: MIT
// Opening data sets: what the description says, the same on every rank, and which paths are none.
#include "data/dataset.hpp"

#include <unistd.h>

#include <filesystem>

#include "core/version.hpp"
#include "data/opening.hpp"
#include "support/catch.hpp"

namespace lockstep::data {

using test::all_ranks;
using test::Shape;

TEST_CASE("A folder of shards, one file and a pattern give the same samples", "[data][mpi]") {
  const ScratchFolder scratch;
  make([&] {
    test::write_shard(scratch / "b.h5", 7, 5);
    test::write_shard(scratch / "a.h5", 0, 7);
    test::write_shard(scratch / "c.h5", 12, 1);
    test::write_file(scratch / "notes.txt", "no shard");
  });
  const auto folder = open_data_set(scratch.path(), world());
  CHECK(folder.samples == 13);
  CHECK(folder.sample_shape == Shape{1, 4, 4});
  CHECK(folder.input_dtype == "uint8");
  CHECK(folder.num_classes == 10);  // the largest label + 1
  CHECK(folder.channel_mean.empty());
  REQUIRE(all_ranks(folder.shards.size() == 3));
  CHECK(folder.shards[0].path == (scratch / "a.h5").string());
  CHECK(folder.shards[1].first_id == 7);
  CHECK(folder.shards[2].first_id == 12);
  CHECK(folder.shards[2].samples == 1);

  const auto pattern = open_data_set(scratch / "[ab]*.h5", world());
  CHECK(pattern.samples == 12);
  CHECK(pattern.fingerprint != folder.fingerprint);
  const auto one = open_data_set(scratch / "b.h5", world(), 20);
  CHECK(one.samples == 5);
  CHECK(one.num_classes == 20);
  const auto again = open_data_set(scratch.path(), world());
  CHECK(again.fingerprint == folder.fingerprint);
  comm::agree_equal(world(), folder.fingerprint, "fingerprint");
}

TEST_CASE("A packed set says what its index says, on every rank", "[data][mpi]") {
  const ScratchFolder scratch;
  make([&] {
    auto options = test::write_idx(scratch.path(), 23, 4);
    options.class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    options.split = "test";
    pack_idx(options, {});
  });
  const auto set = open_data_set(scratch / "out", world());
  CHECK(set.samples == 23);
  CHECK(set.split == "test");
  CHECK(set.class_names.size() == 10);
  CHECK(set.channel_mean.size() == 1);
  REQUIRE(all_ranks(set.shards.size() == 4));
  CHECK(set.shards[3].first_id == 18);
  CHECK(set.shards[0].digest.size() == 16);
  CHECK(set.shards[0].digests_offset > 0);
  comm::agree_equal(world(), set.fingerprint, "fingerprint");
  // The same shards without their index: a folder as good as any.
  make([&] { std::filesystem::remove(scratch / "out/index.json"); });
  const auto plain = open_data_set(scratch / "out", world());
  CHECK(plain.samples == 23);
  CHECK(plain.channel_mean == set.channel_mean);
  CHECK(plain.class_names == set.class_names);
}

TEST_CASE("The shipped digits open", "[data][mpi]") {
  const auto train = open_data_set(shipped_data_set(), world());
  CHECK(train.samples == 1500);
  CHECK(train.shards.size() == 4);
  CHECK(train.num_classes == 10);
  CHECK(train.sample_shape == Shape{1, 8, 8});
  const auto test = open_data_set(cat(kSourceDir, "/data/digits/test"), world(), train.num_classes);
  CHECK(test.samples == 297);
  CHECK(test.fingerprint != train.fingerprint);
}

TEST_CASE("Paths without a data set are missing input", "[data][mpi][H03]") {
  const ScratchFolder scratch;
  CHECK(refused(scratch / "absent", ExitCode::kMissingInput, {"absent", "no such file or folder"}));
  CHECK(refused(scratch.path(), ExitCode::kMissingInput, {"neither index.json nor shards"}));
  CHECK(refused(scratch / "*.h5", ExitCode::kMissingInput, {"*.h5", "matches no file"}));
  make([&] { std::filesystem::create_symlink(scratch / "gone.h5", scratch / "dangling"); });
  CHECK(
      refused(scratch / "dangling", ExitCode::kMissingInput, {"link to a file that is not there"}));
}

TEST_CASE("A shard or a folder without permission is named with the reason", "[data][mpi][H03]") {
  const ScratchFolder scratch;
  const auto folder = folder_with(scratch, "locked", [](const std::string& path) {
    test::write_shard(path, 20, 10);
  });
  make([&] {
    std::filesystem::permissions(scratch.path(), std::filesystem::perms(0755));
    std::filesystem::permissions(folder + "/s2.h5", std::filesystem::perms::none);
  });
  const bool root = ::geteuid() == 0;  // for whom nothing is locked
  if (root) REQUIRE(::seteuid(65534) == 0);
  const bool shard = refused(folder, ExitCode::kIo, {"s2.h5", "Permission denied"});
  if (root) REQUIRE(::seteuid(0) == 0);
  make([&] { std::filesystem::permissions(folder, std::filesystem::perms::none); });
  if (root) REQUIRE(::seteuid(65534) == 0);
  const bool set = refused(folder, ExitCode::kIo, {"locked", "Permission denied"});
  if (root) REQUIRE(::seteuid(0) == 0);
  make([&] { std::filesystem::permissions(folder, std::filesystem::perms::owner_all); });
  CHECK(shard);
  CHECK(set);
}

TEST_CASE("Empty shards are passed over, a set of nothing else is refused", "[data][mpi][H13]") {
  const ScratchFolder scratch;
  make([&] {
    test::write_shard(scratch / "a.h5", 0, 8);
    test::write_shard(scratch / "b.h5", 8, 0);
    test::write_shard(scratch / "c.h5", 8, 5);
  });
  const auto set = open_data_set(scratch.path(), world());
  CHECK(set.samples == 13);
  CHECK(set.shards[2].first_id == 8);
  CHECK(refused(scratch / "b.h5", ExitCode::kBadData, {"no shard holds a sample"}));
}

TEST_CASE("A label outside the classes is refused with file, row and value", "[data][mpi]") {
  const ScratchFolder scratch;
  const auto write = [&](const char* name, std::int64_t value) {
    make([&] {
      std::filesystem::create_directory(scratch / name);
      test::write_shard(scratch / name / "s0.h5", 0, 10);
      auto file = io::H5File::create(scratch / name / "s1.h5");
      auto labels = test::sample_labels(0, 10);
      labels[6] = value;
      file.write("images",
                 {10, 1, 4, 4},
                 std::span<const std::uint8_t>(test::sample_bytes(0, 10, 16)));
      file.write("labels", {10}, std::span<const std::int64_t>(labels));
      file.close();
    });
    return (scratch / name).string();
  };
  const auto high = write("high", 12);
  CHECK(open_data_set(high, world()).num_classes == 13);
  CHECK(refused(high,
                ExitCode::kBadData,
                {"s1.h5, labels: row 6 holds the label 12; legal are 0 to 9"},
                10));
  CHECK(refused(write("low", -1),
                ExitCode::kBadData,
                {"s1.h5, labels: row 6 holds the label -1; legal are 0 and more"}));
}

TEST_CASE("Labels of any integer type are read", "[data][mpi][H07]") {
  const ScratchFolder scratch;
  make([&] {
    auto file = io::H5File::create(scratch / "small.h5");
    const std::vector<std::uint8_t> labels = {0, 200, 255};
    const std::vector<float> features = {1, 2, 3, 4, 5, 6};
    file.write("inputs/x", {3, 2}, std::span<const float>(features));
    file.write("targets/y", {3}, std::span<const std::uint8_t>(labels));
    file.close();
  });
  const auto set = open_data_set(scratch / "small.h5", world());
  CHECK(set.num_classes == 256);
  CHECK(set.input_dtype == "float32");
  CHECK(set.sample_shape == Shape{2});
  CHECK(set.shards[0].target.dtype == "uint8");
  CHECK(set.shards[0].input.dataset == "inputs/x");
}

TEST_CASE("Texts of variable length, as h5py writes them, do not stand in the way", "[data][mpi]") {
  const ScratchFolder scratch;
  make([&] {
    const RawFile file(scratch / "s.h5");
    add(file, "images", {});
    add_labels(file);
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    const hid_t attribute = H5Acreate2(file.id, "split", type, space, H5P_DEFAULT, H5P_DEFAULT);
    const char* text = "train";
    H5Awrite(attribute, type, &text);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
  });
  const auto set = open_data_set(scratch / "s.h5", world());
  CHECK(set.samples == 10);
  CHECK(set.split.empty());
}

TEST_CASE("An index that does not fit its shards is refused", "[data][mpi]") {
  const ScratchFolder scratch;
  make([&] { pack_idx(test::write_idx(scratch.path(), 20, 2), {}); });
  const auto index = scratch / "out/index.json";
  const auto text = test::read_file(index);
  world().barrier();
  const auto replace = [&](const std::string& from, const std::string& to) {
    make([&] {
      auto changed = text;
      changed.replace(changed.find(from), from.size(), to);
      test::write_file(index, changed);
    });
  };
  replace("\"samples\": 10", "\"samples\": 11");
  CHECK(refused(scratch / "out", ExitCode::kBadData, {"10 samples", "index.json says 11"}));
  replace("\"uint8\"", "\"float32\"");
  CHECK(refused(scratch / "out", ExitCode::kBadData, {"uint8 [1, 4, 4]", "float32 [1, 4, 4]"}));
  replace("data-00001", "data-00007");
  CHECK(refused(scratch / "out", ExitCode::kMissingInput, {"data-00007-of-00002.h5"}));
  make([&] { test::write_file(index, text.substr(0, 40)); });
  CHECK(refused(scratch / "out", ExitCode::kBadData, {"index.json", "parse error"}));
}

}  // namespace lockstep::data
