// SPDX-License-Identifier: MIT
// HDF5 files behind one owner: every return code is checked, messages carry the file, the call and
// HDF5's own reason. The library is not thread-safe in its parallel build: all calls come from one
// thread at a time. Serial driver; no call here is collective. A file that is written gets the same
// bytes each time: no times, no fill, space allocated at once.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/unique_handle.hpp"

namespace lockstep::io {

/// First HDF5 call of a program: no filter plug-ins are loaded (a hostile file could name one),
/// nothing is printed on errors. Call right after MPI started, so that HDF5 ends before MPI does;
/// later calls do nothing.
void start_hdf5();

/// "1.10.8", of the library that runs.
std::string hdf5_version();

/// Element types that files of ours hold; always stored in native byte order.
enum class H5Type {
  kUInt8,
  kInt8,
  kUInt16,
  kInt16,
  kUInt32,
  kInt32,
  kUInt64,
  kInt64,
  kFloat32,
  kFloat64
};

/// "uint8", "float32", ...
const char* h5_type_name(H5Type type);
std::int64_t h5_type_bytes(H5Type type);
/// The type of that name; none for other names.
std::optional<H5Type> h5_type_of_name(const std::string& name);

template <class T>
constexpr H5Type h5_type() {
  if constexpr (std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::byte>)
    return H5Type::kUInt8;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return H5Type::kInt8;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return H5Type::kUInt16;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return H5Type::kInt16;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return H5Type::kUInt32;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return H5Type::kInt32;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return H5Type::kUInt64;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return H5Type::kInt64;
  else if constexpr (std::is_same_v<T, float>)
    return H5Type::kFloat32;
  else {
    static_assert(std::is_same_v<T, double>, "no HDF5 type for this C++ type");
    return H5Type::kFloat64;
  }
}

enum class H5Layout { kCompact, kContiguous, kChunked, kVirtual };

struct H5Filter {
  int id = 0;
  std::string name;  ///< "deflate", or what the file calls it
};

/// What a dataset is and how it lies in the file; nothing of it is trusted.
struct H5DatasetInfo {
  std::string name;
  std::string type;                 ///< "uint8", "float32 big-endian", "string", "compound", ...
  std::optional<H5Type> native;     ///< where it is one of ours in native order
  std::vector<std::int64_t> shape;  ///< empty: a scalar
  H5Layout layout = H5Layout::kContiguous;
  std::optional<std::int64_t> offset;  ///< of the first byte, where contiguous and allocated
  std::int64_t storage_bytes = 0;
  std::vector<H5Filter> filters;
  int external_files = 0;
};

/// One name in a group.
struct H5Link {
  enum class Kind { kHard, kSoft, kExternal, kOther };
  enum class Object { kGroup, kDataset, kOther };  ///< known for hard links only
  std::string name;
  Kind kind = Kind::kHard;
  Object object = Object::kOther;
};

struct H5IdTraits {
  using Value = hid_t;
  static Value invalid() { return -1; }
  static void close(Value id) noexcept;
};
using H5Id = UniqueHandle<H5IdTraits>;

struct H5CreateOptions {
  std::int64_t align_from_bytes =
      4096;  ///< data of this size and more start at a multiple of `align_bytes`
  std::int64_t align_bytes = 4096;
};

/// An open file. Reading fails with DataError, writing with IoError; creating with
/// CannotCreateError.
class H5File {
 public:
  /// A new file; one that is there already is an error.
  static H5File create(const std::string& path, const H5CreateOptions& options = {});
  /// Read-only. Refuses what is not a regular HDF5 file, with the reason: missing
  /// (MissingInputError), a folder, empty, not HDF5, truncated (found and expected bytes). `lock`
  /// false for file systems without locks and for plain shards.
  static H5File open_to_read(const std::string& path, bool lock = false);

  const std::string& path() const { return path_; }
  hid_t id() const { return id_.get(); }
  std::int64_t user_block_bytes() const;
  /// Closes now and reports what went wrong, which the destructor cannot. fsync is the caller's.
  void close();

  /// Missing parents are made too; existing groups are left alone.
  void make_group(const std::string& name);
  /// Names in a group in the order of their bytes, not followed. Throws where there are more than
  /// `limit`.
  std::vector<H5Link> links(const std::string& group = "/", std::int64_t limit = 1 << 20) const;
  /// True for a hard link to anything, every part of the path being a hard link.
  bool exists(const std::string& name) const;

  /// A contiguous dataset with its space allocated and not filled; parents are made. An empty shape
  /// is a scalar. Returns the offset of its data in the file; 0 where it has no elements.
  std::int64_t create_dataset(const std::string& name,
                              H5Type type,
                              const std::vector<std::int64_t>& shape);
  H5DatasetInfo info(const std::string& name) const;

  /// Rows [first_row, ...) of a dataset: data.size() elements, a whole number of rows. The types
  /// must match exactly.
  template <class T>
  void write_rows(const std::string& name, std::int64_t first_row, std::span<const T> data) {
    write_raw(name, first_row, data.data(), data.size(), h5_type<T>());
  }
  template <class T>
  void read_rows(const std::string& name, std::int64_t first_row, std::span<T> data) const {
    read_raw(name, first_row, data.data(), data.size(), h5_type<T>());
  }
  /// A whole dataset, created and written.
  template <class T>
  void write(const std::string& name,
             const std::vector<std::int64_t>& shape,
             std::span<const T> data) {
    create_dataset(name, h5_type<T>(), shape);
    write_rows(name, 0, data);
  }

  /// Attributes of "/", a group or a dataset. Texts are of fixed length, UTF-8; they may be empty.
  void set_attribute(const std::string& object, const std::string& name, const std::string& value);
  void set_attribute(const std::string& object, const std::string& name, std::int64_t value);
  void set_attribute(const std::string& object, const std::string& name, double value);
  void set_attribute(const std::string& object,
                     const std::string& name,
                     std::span<const double> values);
  void set_attribute(const std::string& object,
                     const std::string& name,
                     std::span<const std::string> values);

  std::vector<std::string> attribute_names(const std::string& object) const;
  /// None where there is no such attribute; DataError where it is of another kind. Numbers of any
  /// width are converted.
  std::optional<std::string> text_attribute(const std::string& object,
                                            const std::string& name) const;
  std::optional<std::int64_t> integer_attribute(const std::string& object,
                                                const std::string& name) const;
  std::optional<double> real_attribute(const std::string& object, const std::string& name) const;
  std::optional<std::vector<double>> reals_attribute(const std::string& object,
                                                     const std::string& name) const;
  std::optional<std::vector<std::string>> texts_attribute(const std::string& object,
                                                          const std::string& name) const;

  /// "text", "integer", "real", "texts", "integers", "reals" or "other": what the attribute is,
  /// none where absent.
  std::optional<std::string> attribute_kind(const std::string& object,
                                            const std::string& name) const;

 private:
  H5File(std::string path, bool writable) : path_(std::move(path)), writable_(writable) {}
  [[noreturn]] void fail(const std::string& call, const std::string& object) const;
  template <class Result>
  Result check(Result result, const char* call, const std::string& object) const {
    if (result < 0) fail(call, object);
    return result;
  }
  void write_raw(const std::string& name,
                 std::int64_t first_row,
                 const void* data,
                 std::size_t count,
                 H5Type type);
  void read_raw(const std::string& name,
                std::int64_t first_row,
                void* data,
                std::size_t count,
                H5Type type) const;
  H5Id open_dataset(const std::string& name) const;
  H5Id open_attribute(const std::string& object, const std::string& name) const;
  H5Id select_rows(hid_t dataset,
                   const std::string& name,
                   std::int64_t first_row,
                   std::size_t count,
                   H5Id& file_space) const;
  template <class Element>
  std::optional<std::vector<Element>> read_attribute(const std::string& object,
                                                     const std::string& name,
                                                     const std::string& wanted) const;
  void put_attribute(const std::string& object,
                     const std::string& name,
                     hid_t type,
                     hid_t space,
                     const void* data);

  std::string path_;
  bool writable_ = false;
  H5Id id_;
};

}  // namespace lockstep::io
