// SPDX-License-Identifier: MIT
#include "data/idx.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/columns.hpp"
#include "io/file.hpp"

namespace lockstep::data {
namespace {

constexpr std::int64_t kMaxRowBytes = 1 << 30;
constexpr unsigned kBufferBytes = 256 << 10;

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | bytes[3];
}

std::string magic_text(std::uint32_t magic) {
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), "0x%08x", magic);
  return text.data();
}

io::Fd open_followed(const std::string& path) {
  std::error_code error;
  const auto real =
      std::filesystem::canonical(path, error);  // a link that the user names is followed
  return io::open_to_read(error ? path : real.string());
}

}  // namespace

IdxFile::IdxFile(const std::string& path) : path_(path), stream_(nullptr, gzclose) {
  auto fd = open_followed(path);
  file_bytes_ = io::file_bytes(fd, path);
  stream_.reset(gzdopen(fd.get(), "rb"));
  if (!stream_) throw IoError(cat(path, ": zlib cannot open it"));
  fd.release();
  gzbuffer(stream_.get(), kBufferBytes);

  std::array<std::uint8_t, 4> word{};
  const auto header_word = [&] {
    const auto got = read_some(word);
    if (got != 4)
      throw DataError(cat(path, ": the IDX header ends early (", file_bytes_, " bytes on disk)"));
    return big_endian(word.data());
  };
  const auto magic = header_word();
  const auto rank = magic & 0xff;
  if (magic >> 8 != 0x08 || rank < 1 || rank > 4) {
    throw DataError(cat(path,
                        ": magic number ",
                        magic_text(magic),
                        " found; needed: 0x00000801 (labels) or 0x00000802 to 0x00000804 (images), "
                        "an IDX file of unsigned bytes"));
  }
  for (std::uint32_t i = 0; i < rank; ++i) shape_.push_back(header_word());
  for (std::size_t i = 1; i < shape_.size(); ++i) {
    if (shape_[i] == 0 || __builtin_mul_overflow(row_bytes_, shape_[i], &row_bytes_) ||
        row_bytes_ > kMaxRowBytes) {
      throw DataError(
          cat(path, ": shape ", shape_text(shape_), " found; needed: samples of 1 byte to 1 GiB"));
    }
  }
}

std::int64_t IdxFile::read_some(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto piece = static_cast<unsigned>(std::min<std::size_t>(out.size() - done, 1 << 30));
    const int got = gzread(stream_.get(), out.data() + done, piece);
    int code = Z_OK;
    const char* text = gzerror(stream_.get(), &code);
    // Z_BUF_ERROR: a gzip file that ends early; what came before its end is still handed out.
    if (got < 0 || (code != Z_OK && code != Z_BUF_ERROR))
      throw DataError(cat(path_, ": is damaged: ", text));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<std::int64_t>(done);
}

void IdxFile::read(std::span<std::uint8_t> out) {
  const auto got = read_some(out);
  position_ += got;
  if (got == static_cast<std::int64_t>(out.size())) return;
  throw DataError(cat(path_,
                      ": is truncated: ",
                      position_,
                      " bytes of values found, ",
                      rows() * row_bytes_,
                      " expected for shape ",
                      shape_text(shape_)));
}

void IdxFile::finish() {
  std::array<std::uint8_t, 1> more{};
  if (read_some(more) != 0)
    throw DataError(cat(path_, ": more bytes follow than shape ", shape_text(shape_), " needs"));
  int code = Z_OK;
  const char* text = gzerror(stream_.get(), &code);
  if (code != Z_OK) throw DataError(cat(path_, ": its gzip stream is not complete: ", text));
}

}  // namespace lockstep::data
