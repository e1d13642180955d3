// SPDX-License-Identifier: MIT
// Packing IDX files: what lies in the shards, equal bytes, and refusals that leave nothing behind.
#include "data/pack.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/digest.hpp"
#include "core/partition.hpp"
#include "core/text.hpp"
#include "data/index.hpp"
#include "data/shards.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"

namespace lockstep::data {
namespace {

using test::lacks;
using test::message_of;

PackOptions make_input(const test::TemporaryFolder& folder,
                       std::int64_t rows,
                       std::int64_t shards,
                       const test::Shape& shape = {4, 4}) {
  return test::write_idx(folder / "", rows, shards, shape);
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

// Code and text of a refusal, and whether the folder holds anything that was not there before.
std::string refusal(const test::TemporaryFolder& folder,
                    const PackOptions& options,
                    ExitCode code) {
  const auto before = names_in(folder / "");
  try {
    pack_idx(options, {});
  } catch (const Error& error) {
    if (error.code() != code)
      return cat("exit code ", static_cast<int>(error.code()), ": ", error.what());
    if (names_in(folder / "") != before) return cat("left something behind: ", error.what());
    return error.what();
  }
  return "(nothing was thrown)";
}

}  // namespace

TEST_CASE("Shards hold the samples of the IDX files in order, nearly equal in size", "[data]") {
  const test::TemporaryFolder folder;
  auto options = make_input(folder, 23, 4, {3, 2, 5});
  options.class_names = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
  options.licence = "CC0";
  const auto summary = pack_idx(options, {});
  CHECK(summary.samples == 23);
  CHECK(summary.sample_shape == test::Shape{3, 2, 5});
  CHECK(summary.class_counts.size() == 11);
  CHECK(names_in(options.out) == std::vector<std::string>{"data-00000-of-00004.h5",
                                                          "data-00001-of-00004.h5",
                                                          "data-00002-of-00004.h5",
                                                          "data-00003-of-00004.h5",
                                                          "index.json"});
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto rows = part_of(23, 4, i);
    const auto file = io::H5File::open_to_read(cat(options.out, "/data-0000", i, "-of-00004.h5"));
    CHECK(file.info("images").shape == test::Shape{rows.size(), 3, 2, 5});
    std::vector<std::uint8_t> images(static_cast<std::size_t>(rows.size() * 30));
    std::vector<std::int64_t> labels(static_cast<std::size_t>(rows.size()));
    std::vector<std::uint64_t> ids(labels.size()), digests(labels.size());
    file.read_rows("images", 0, std::span(images));
    file.read_rows("labels", 0, std::span(labels));
    file.read_rows("sample_id", 0, std::span(ids));
    file.read_rows("xxh3", 0, std::span(digests));
    CHECK(images == test::sample_bytes(rows.begin, rows.size(), 30));
    CHECK(labels == test::sample_labels(rows.begin, rows.size()));
    CHECK(ids.front() == static_cast<std::uint64_t>(rows.begin));
    // The digest's definition, spelled out: image bytes, then label bytes.
    std::string covered(images.begin(), images.begin() + 30);
    covered.append(reinterpret_cast<const char*>(labels.data()), 8);
    CHECK(digests.front() == digest(covered));
    CHECK(file.integer_attribute("/", "first_global_id") == rows.begin);
    CHECK(file.integer_attribute("/", "num_classes") == 11);
    CHECK(file.texts_attribute("/", "class_names") == options.class_names);
    CHECK(file.text_attribute("/", "licence") == "CC0");
    CHECK(file.text_attribute("/", "layout") == "NCHW");
    CHECK(file.reals_attribute("/", "channel_mean") == summary.channel_mean);
  }
}

TEST_CASE("Mean and deviation are those of values / 255 per channel", "[data]") {
  const test::TemporaryFolder folder;
  const auto summary = pack_idx(make_input(folder, 50, 1, {2, 3, 3}), {});
  for (std::int64_t channel = 0; channel < 2; ++channel) {
    double sum = 0, squares = 0;
    for (std::int64_t id = 0; id < 50; ++id) {
      for (std::int64_t i = 0; i < 9; ++i) {
        const double value = test::byte_of(id, channel * 9 + i) / 255.0;
        sum += value;
        squares += value * value;
      }
    }
    const double mean = sum / 450;
    CHECK(std::abs(summary.channel_mean[static_cast<std::size_t>(channel)] - mean) < 1e-12);
    CHECK(std::abs(summary.channel_std[static_cast<std::size_t>(channel)] -
                   std::sqrt(squares / 450 - mean * mean)) < 1e-12);
  }
}

TEST_CASE("Packing twice gives the same bytes, from plain and from gzip files", "[data]") {
  const test::TemporaryFolder folder;
  auto options = make_input(folder, 301, 3);
  std::int64_t last = 0, total = 0;
  pack_idx(options, [&](std::int64_t done, std::int64_t of) {
    CHECK(done >= last);
    last = done;
    total = of;
  });
  CHECK(last == total);
  auto again = options;
  test::write_gzip(folder / "images.gz", test::read_file(options.idx_images));
  test::write_gzip(folder / "labels.gz", test::read_file(options.idx_labels));
  again.idx_images = folder / "images.gz";
  again.idx_labels = folder / "labels.gz";
  again.out = folder / "again/";
  pack_idx(again, {});
  for (const auto& name : names_in(options.out))
    CHECK(test::read_file(folder / "out" / name) == test::read_file(folder / "again" / name));
}

TEST_CASE("index.json lists the shards with their digests", "[data]") {
  const test::TemporaryFolder folder;
  const auto options = make_input(folder, 10, 2);
  pack_idx(options, {});
  const auto path = folder / "out/index.json";
  const auto index = parse_index(test::read_file(path), path);
  CHECK(index.shape == test::Shape{1, 4, 4});
  CHECK(index.dtype == "uint8");
  CHECK(index.num_classes == 10);
  REQUIRE(index.shards.size() == 2);
  for (const auto& shard : index.shards) {
    const auto bytes = test::read_file(folder / "out" / shard.file);
    const std::vector<std::uint64_t> blocks = {digest(bytes)};  // below 1 MiB: one block
    CHECK(shard.digest == hex(digest_of_blocks(blocks)));
    CHECK(shard.bytes == static_cast<std::int64_t>(bytes.size()));
    CHECK(shard.samples == 5);
  }
  const auto wrong = [&](const std::string& text) {
    return message_of([&] { parse_index(text, "x/index.json"); });
  };
  CHECK(lacks(wrong("{"), {"x/index.json", "parse error"}) == "");
  CHECK(lacks(wrong("{\"format\": \"other\", \"version\": 1}"), {"other", "lockstep-dataset"}) ==
        "");
  CHECK(lacks(wrong("{\"format\": \"lockstep-dataset\", \"version\": 9}"), {"version", "9"}) == "");
  CHECK(lacks(wrong("{\"format\": \"lockstep-dataset\", \"version\": 1}"), {"split"}) == "");
  auto hostile = index;
  hostile.shards[0].file = "../secret.h5";
  CHECK(lacks(wrong(print_index(hostile)), {"../secret.h5", "plain file name"}) == "");
}

TEST_CASE("Broken or unlike IDX files are refused, and nothing is left behind", "[data]") {
  const test::TemporaryFolder folder;
  const auto options = make_input(folder, 20, 2);
  const auto images = test::read_file(options.idx_images);
  const auto labels = test::read_file(options.idx_labels);
  const auto with = [&](const std::string& image_bytes, const std::string& label_bytes) {
    test::write_file(options.idx_images, image_bytes);
    test::write_file(options.idx_labels, label_bytes);
    return refusal(folder, options, ExitCode::kBadData);
  };
  CHECK(lacks(with(images.substr(0, images.size() - 5), labels),
              {"images.idx", "truncated", "315 bytes", "320 expected"}) == "");
  CHECK(lacks(with(images + "x", labels), {"images.idx", "more bytes follow"}) == "");
  CHECK(lacks(with(images, labels.substr(0, labels.size() - 1)), {"labels.idx", "truncated"}) ==
        "");
  CHECK(lacks(with(images.substr(0, 7), labels), {"images.idx", "header ends early"}) == "");
  CHECK(lacks(with("", labels), {"images.idx", "header ends early"}) == "");
  CHECK(lacks(with(labels, images), {"images.idx", "[20]", "images of 2 to 4 dimensions"}) == "");
  CHECK(lacks(with(images, test::idx_text({19}, std::vector<std::uint8_t>(19))),
              {"20 samples", "19 labels"}) == "");
  CHECK(lacks(with("\x01\x02\x03\x04 and more", labels),
              {"magic number 0x01020304", "0x00000801"}) == "");
  auto floats = images;
  floats[2] = 0x0d;
  CHECK(lacks(with(floats, labels), {"magic number 0x00000d03"}) == "");
  CHECK(lacks(with(test::idx_text({0, 4, 4}, {}), test::idx_text({0}, {})), {"no samples"}) == "");
  CHECK(lacks(with(test::idx_text({20, 0, 4}, {}), labels), {"[20, 0, 4]"}) == "");
  // Declares far more than there is: refused without reserving memory for it.
  CHECK(lacks(with(test::idx_text({4294967295, 65535, 16000}, {1}), labels),
              {"4294967295 samples"}) == "");
}

TEST_CASE("A gzip file that ends early or is damaged is refused", "[data]") {
  const test::TemporaryFolder folder;
  const auto options = make_input(folder, 2000, 2);
  test::write_gzip(folder / "images.gz", test::read_file(options.idx_images));
  const auto whole = test::read_file(folder / "images.gz");
  auto zipped = options;
  zipped.idx_images = folder / "images.gz";
  test::write_file(zipped.idx_images, whole.substr(0, whole.size() / 2));
  CHECK(lacks(refusal(folder, zipped, ExitCode::kBadData), {"images.gz", "truncated"}) == "");
  test::write_file(zipped.idx_images,
                   whole.substr(0, whole.size() - 4));  // only the checksum's end is missing
  CHECK(lacks(refusal(folder, zipped, ExitCode::kBadData), {"images.gz", "gzip"}) == "");
  auto damaged = whole;
  damaged[damaged.size() - 6] ^= 1;
  test::write_file(zipped.idx_images, damaged);
  CHECK(lacks(refusal(folder, zipped, ExitCode::kBadData), {"images.gz", "damaged"}) == "");
}

TEST_CASE("Wrong requests to pack are refused with their own exit code", "[data]") {
  const test::TemporaryFolder folder;
  const auto options = make_input(folder, 20, 2);
  auto wrong = options;
  wrong.idx_images = folder / "absent.idx";
  CHECK(lacks(refusal(folder, wrong, ExitCode::kMissingInput), {"absent.idx"}) == "");
  wrong = options;
  wrong.shards = 21;
  CHECK(lacks(refusal(folder, wrong, ExitCode::kUsage), {"--shards 21", "20 samples"}) == "");
  wrong.shards = 0;
  CHECK(lacks(refusal(folder, wrong, ExitCode::kUsage), {"--shards 0"}) == "");
  wrong = options;
  wrong.class_names = {"a", "b", "c"};
  CHECK(lacks(refusal(folder, wrong, ExitCode::kBadData),
              {"labels.idx", "row", "label 9", "0 to 2"}) == "");
  std::filesystem::create_directory(folder / "full");
  test::write_file(folder / "full/precious", "text");
  wrong = options;
  wrong.out = folder / "full";
  CHECK(lacks(refusal(folder, wrong, ExitCode::kCannotCreate), {"full", "not empty"}) == "");
  wrong.out = folder / "images.idx";
  CHECK(lacks(refusal(folder, wrong, ExitCode::kCannotCreate), {"is a file"}) == "");
  CHECK(test::read_file(folder / "full/precious") == "text");
  std::filesystem::create_directory(folder / "empty");
  wrong.out = folder / "empty";
  CHECK(pack_idx(wrong, {}).samples == 20);
}

}  // namespace lockstep::data
