// SPDX-License-Identifier: MIT
// IDX files (the format of MNIST and its kin), plain or gzip, read once from front to back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct gzFile_s;

namespace lockstep::data {

/// An IDX file of unsigned bytes: magic 00 00 08 RANK, RANK big-endian 32-bit extents, then the
/// values. Throws MissingInputError, IoError, and DataError with found and expected values.
class IdxFile {
 public:
  explicit IdxFile(const std::string& path);
  const std::string& path() const { return path_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t rows() const { return shape_.front(); }
  std::int64_t row_bytes() const { return row_bytes_; }
  /// Size of the file as it lies on disk.
  std::int64_t file_bytes() const { return file_bytes_; }

  /// The next out.size() bytes; a file that ends before is an error.
  void read(std::span<std::uint8_t> out);
  /// After the last value: nothing may follow, and a gzip file's own checksum must fit.
  void finish();

 private:
  std::int64_t read_some(std::span<std::uint8_t> out);

  std::string path_;
  std::vector<std::int64_t> shape_;
  std::int64_t row_bytes_ = 1;
  std::int64_t file_bytes_ = 0;
  std::int64_t position_ = 0;  ///< bytes of values read so far
  std::unique_ptr<gzFile_s, int (*)(gzFile_s*)> stream_;
};

}  // namespace lockstep::data
