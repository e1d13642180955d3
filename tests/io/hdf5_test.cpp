// SPDX-License-Identifier: MIT
// The HDF5 wrapper: equal bytes for equal content, round trips, and refusals that name file and
// reason.
#include "io/hdf5.hpp"

#include <cstring>
#include <filesystem>
#include <limits>

#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/messages.hpp"

namespace lockstep::io {
namespace {

using test::lacks;
using test::message_of;

const std::vector<float> kValues = {-0.0F,
                                    std::numeric_limits<float>::denorm_min(),
                                    std::numeric_limits<float>::quiet_NaN(),
                                    4,
                                    5,
                                    6};

void write_sample(const std::string& path) {
  auto file = H5File::create(path);
  const std::vector<std::uint8_t> bytes(10000, 7);
  file.write("model/conv1.weight", {2, 3}, std::span<const float>(kValues));
  file.write("big", {100, 100}, std::span<const std::uint8_t>(bytes));
  file.set_attribute("/", "text", std::string("Größe"));
  file.set_attribute("/", "empty", std::string());
  file.set_attribute("/", "count", std::int64_t{-3});
  file.set_attribute("/", "rate", 0.1);
  const std::vector<double> reals = {0.25, -1e300};
  const std::vector<std::string> texts = {"a", "", "longer"};
  file.set_attribute("model", "reals", std::span<const double>(reals));
  file.set_attribute("model/conv1.weight", "texts", std::span<const std::string>(texts));
  file.close();
}

}  // namespace

TEST_CASE("The same content gives the same bytes", "[io]") {
  const test::TemporaryFolder folder;
  write_sample(folder / "a.h5");
  write_sample(folder / "b.h5");
  CHECK(test::read_file(folder / "a.h5") == test::read_file(folder / "b.h5"));
}

TEST_CASE("Datasets and attributes come back bit for bit", "[io]") {
  const test::TemporaryFolder folder;
  write_sample(folder / "a.h5");
  const auto file = H5File::open_to_read(folder / "a.h5");
  std::vector<float> values(6);
  file.read_rows("model/conv1.weight", 0, std::span(values));
  CHECK(std::memcmp(values.data(), kValues.data(), 24) == 0);
  std::vector<float> row(3);
  file.read_rows("model/conv1.weight", 1, std::span(row));
  CHECK(row == std::vector<float>{4, 5, 6});
  CHECK(file.text_attribute("/", "text") == "Größe");
  CHECK(file.text_attribute("/", "empty") == "");
  CHECK(file.integer_attribute("/", "count") == -3);
  CHECK(file.real_attribute("/", "rate") == 0.1);
  CHECK(file.real_attribute("/", "count") == -3.0);
  CHECK(file.reals_attribute("model", "reals") == std::vector<double>{0.25, -1e300});
  CHECK(file.texts_attribute("model/conv1.weight", "texts") ==
        std::vector<std::string>{"a", "", "longer"});
  CHECK(file.text_attribute("/", "absent") == std::nullopt);
  CHECK(file.attribute_kind("/", "rate") == "real");
  CHECK(file.attribute_names("/") == std::vector<std::string>{"count", "empty", "rate", "text"});
  CHECK(file.exists("model/conv1.weight"));
  CHECK_FALSE(file.exists("model/conv2.weight"));
}

TEST_CASE("A dataset says how it lies in the file", "[io]") {
  const test::TemporaryFolder folder;
  write_sample(folder / "a.h5");
  const auto file = H5File::open_to_read(folder / "a.h5");
  const auto info = file.info("big");
  CHECK(info.type == "uint8");
  CHECK(info.native == H5Type::kUInt8);
  CHECK(info.shape == std::vector<std::int64_t>{100, 100});
  CHECK(info.layout == H5Layout::kContiguous);
  CHECK(info.storage_bytes == 10000);
  CHECK(info.filters.empty());
  CHECK(info.external_files == 0);
  REQUIRE(info.offset);
  CHECK(*info.offset % 4096 == 0);
  CHECK(test::read_file(folder / "a.h5").substr(static_cast<std::size_t>(*info.offset), 10000) ==
        std::string(10000, 7));
  const auto links = file.links();
  REQUIRE(links.size() == 2);
  CHECK(links[0].name == "big");
  CHECK(links[0].object == H5Link::Object::kDataset);
  CHECK(links[1].object == H5Link::Object::kGroup);
  CHECK(file.user_block_bytes() == 0);
}

TEST_CASE("Files that HDF5 cannot read are refused in one line", "[io][H02][H03]") {
  const test::TemporaryFolder folder;
  const auto refusal = [&](const std::string& name) {
    return message_of([&] { H5File::open_to_read(folder / name); });
  };
  write_sample(folder / "cut.h5");
  const auto bytes = test::read_file(folder / "cut.h5");
  test::write_file(folder / "cut.h5", bytes.substr(0, bytes.size() - 100));
  CHECK(lacks(refusal("cut.h5"),
              {"cut.h5",
               "truncated",
               std::to_string(bytes.size()),
               std::to_string(bytes.size() - 100)}) == "");
  test::write_file(folder / "empty.h5", "");
  CHECK(lacks(refusal("empty.h5"), {"empty.h5", "empty"}) == "");
  test::write_file(folder / "text.h5", "this is no HDF5 file");
  CHECK(lacks(refusal("text.h5"), {"text.h5", "not an HDF5 file"}) == "");
  test::write_file(folder / "short.h5", bytes.substr(0, 8));
  CHECK(lacks(refusal("short.h5"), {"short.h5", "HDF5 cannot open it"}) == "");
  std::filesystem::create_directory(folder / "folder.h5");
  CHECK(lacks(refusal("folder.h5"), {"folder.h5", "folder"}) == "");
  CHECK_THROWS_AS(H5File::open_to_read(folder / "folder.h5"), DataError);
  CHECK_THROWS_AS(H5File::open_to_read(folder / "missing.h5"), MissingInputError);
}

TEST_CASE("Wrong requests name file and object, and nothing is overwritten", "[io]") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  write_sample(path);
  CHECK_THROWS_AS(H5File::create(path), CannotCreateError);
  CHECK_THROWS_AS(H5File::create(folder / "absent/a.h5"), CannotCreateError);
  const auto file = H5File::open_to_read(path);
  CHECK(lacks(message_of([&] { file.info("nothing"); }), {path, "nothing"}) == "");
  std::vector<double> wrong(6);
  CHECK(lacks(message_of([&] { file.read_rows("model/conv1.weight", 0, std::span(wrong)); }),
              {path, "conv1.weight", "float32", "float64"}) == "");
  CHECK(lacks(message_of([&] { file.integer_attribute("/", "text"); }),
              {path, "text", "integer"}) == "");
}

TEST_CASE("Empty datasets and scalars can be kept", "[io]") {
  const test::TemporaryFolder folder;
  {
    auto file = H5File::create(folder / "a.h5");
    file.write("none", {0, 3}, std::span<const float>());
    const double value = 2.5;
    file.write("scalar", {}, std::span(&value, 1));
    file.close();
  }
  const auto file = H5File::open_to_read(folder / "a.h5");
  double value = 0;
  file.read_rows("scalar", 0, std::span(&value, 1));
  CHECK(value == 2.5);
  CHECK(file.info("scalar").shape.empty());
  CHECK(file.info("none").shape == std::vector<std::int64_t>{0, 3});
  CHECK_FALSE(file.info("none").offset);
  file.read_rows("none", 0, std::span<float>());
}

}  // namespace lockstep::io
