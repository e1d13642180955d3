// SPDX-License-Identifier: MIT
// Small shards and IDX files for the tests of this room, whose values follow from the sample's
// number.
#pragma once

#include <zlib.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "data/columns.hpp"
#include "data/pack.hpp"
#include "io/hdf5.hpp"
#include "support/files.hpp"

namespace lockstep::test {

using Shape = std::vector<std::int64_t>;

/// Byte i of sample `id`, and its label.
inline std::uint8_t byte_of(std::int64_t id, std::int64_t i) {
  return static_cast<std::uint8_t>(id * 37 + i * 11 + id * i % 7);
}
inline std::int64_t label_of(std::int64_t id) { return (id * 7 + 3) % 10; }

inline std::int64_t product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

inline std::vector<std::uint8_t> sample_bytes(std::int64_t first,
                                              std::int64_t rows,
                                              std::int64_t bytes) {
  std::vector<std::uint8_t> out;
  for (std::int64_t id = first; id < first + rows; ++id) {
    for (std::int64_t i = 0; i < bytes; ++i) out.push_back(byte_of(id, i));
  }
  return out;
}

inline std::vector<std::int64_t> sample_labels(std::int64_t first, std::int64_t rows) {
  std::vector<std::int64_t> out;
  for (std::int64_t id = first; id < first + rows; ++id) out.push_back(label_of(id));
  return out;
}

inline Shape rows_of(std::int64_t rows, Shape shape) {
  shape.insert(shape.begin(), rows);
  return shape;
}

/// A plain shard with uint8 images and int64 labels of samples [first, first + rows).
inline void write_shard(const std::filesystem::path& path,
                        std::int64_t first,
                        std::int64_t rows,
                        const Shape& shape = {1, 4, 4}) {
  auto file = io::H5File::create(path);
  const auto bytes = sample_bytes(first, rows, product(shape));
  const auto labels = sample_labels(first, rows);
  file.write("images", rows_of(rows, shape), std::span<const std::uint8_t>(bytes));
  file.write("labels", {rows}, std::span<const std::int64_t>(labels));
  file.close();
}

/// An IDX file's bytes.
inline std::string idx_text(const Shape& shape, const std::vector<std::uint8_t>& values) {
  std::string out = {0, 0, 8, static_cast<char>(shape.size())};
  for (const auto extent : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(extent >> shift);
  }
  return out.append(values.begin(), values.end());
}

inline void write_gzip(const std::filesystem::path& path, const std::string& text) {
  const gzFile out = gzopen(path.c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
}

/// Writes images.idx and labels.idx of `rows` samples into a folder and returns options that pack
/// them into folder/out.
inline data::PackOptions write_idx(const std::filesystem::path& folder,
                                   std::int64_t rows,
                                   std::int64_t shards,
                                   const Shape& shape = {4, 4}) {
  const auto labels = sample_labels(0, rows);
  write_file(folder / "images.idx",
             idx_text(rows_of(rows, shape), sample_bytes(0, rows, product(shape))));
  write_file(folder / "labels.idx", idx_text({rows}, {labels.begin(), labels.end()}));
  return {.idx_images = folder / "images.idx",
          .idx_labels = folder / "labels.idx",
          .out = folder / "out",
          .shards = shards};
}

}  // namespace lockstep::test
