// SPDX-License-Identifier: MIT
#include "checkpoint/contents.hpp"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoint/manifest.hpp"
#include "checkpoint/types.hpp"
#include "core/error.hpp"
#include "io/file.hpp"

namespace lockstep::checkpoint {
namespace {

constexpr std::size_t kMaxObjects = 1 << 20;
constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxDimensions = 8;
constexpr std::int64_t kMaxTextBytes = 1 << 24;

// Walks the tree of one file.
class Reader {
 public:
  explicit Reader(const std::string& path)
      : path_(path),
        file_bytes_(io::file_bytes(io::open_to_read(path), path)),
        file_(io::H5File::open_to_read(path)) {
    if (file_.user_block_bytes() != 0) refuse("/", "a user block in front is not allowed");
  }

  Contents read() {
    group("/", 0);
    std::sort(out_.tensors.begin(), out_.tensors.end(), [](const auto& a, const auto& b) {
      return a.name < b.name;
    });
    check_format();
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& object, const std::string& why) const {
    throw DataError(cat(path_, ", ", object, ": ", why));
  }
  std::string where(const std::string& name) const { return cat(path_, ", ", name); }

  void group(const std::string& name, int depth) {
    const io::H5Id opened(h5_check<DataError>(H5Gopen2(file_.id(), name.c_str(), H5P_DEFAULT),
                                              "H5Gopen2",
                                              where(name)));
    H5O_info_t info{};
    h5_check<DataError>(H5Oget_info2(opened.get(), &info, H5O_INFO_BASIC),
                        "H5Oget_info2",
                        where(name));
    if (depth > kMaxDepth || !groups_.insert(info.addr).second)
      refuse(name, "groups are nested too deeply or in a circle");
    for (const auto& link : file_.links(name)) {
      const auto child = cat(name == "/" ? "" : name + "/", link.name);
      if (++objects_ > kMaxObjects) refuse(child, cat("more than ", kMaxObjects, " objects"));
      if (link.kind != io::H5Link::Kind::kHard)
        refuse(child, "soft and external links are not allowed");
      if (link.object == io::H5Link::Object::kOther)
        refuse(child, "is neither a group nor a dataset");
      if (link.object == io::H5Link::Object::kGroup) {
        group(child, depth + 1);
      } else {
        dataset(child);
      }
    }
  }

  void dataset(const std::string& name) {
    const auto info = file_.info(name);
    if (info.external_files != 0) refuse(name, "data in external files is not allowed");
    if (info.layout != io::H5Layout::kContiguous)
      refuse(name, "its layout is not contiguous, as checkpoints are");
    if (info.shape.size() > kMaxDimensions)
      refuse(name, cat(info.shape.size(), " dimensions; at most ", kMaxDimensions));
    const io::H5Id set(h5_check<DataError>(H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT),
                                           "H5Dopen2",
                                           where(name)));
    const io::H5Id type(h5_check<DataError>(H5Dget_type(set.get()), "H5Dget_type", where(name)));
    if (const auto dtype = file_.text_attribute(name, kDtypeAttribute)) {
      tensor(info, *dtype, type.get());
    } else {
      out_.scalars[name] = scalar(info, set.get(), type.get());
    }
  }

  void tensor(const io::H5DatasetInfo& info, const std::string& dtype, hid_t type) {
    const auto known = type_of_text(dtype);
    if (!known || H5Tequal(type, file_type(*known).get()) <= 0) {
      refuse(
          info.name,
          cat("is ", info.type, " in HDF5 and '", dtype, "' by its attribute ", kDtypeAttribute));
    }
    TensorPlace place{.name = info.name, .dtype = dtype, .shape = info.shape};
    place.bytes = static_cast<std::int64_t>(H5Tget_size(type));
    for (const auto size : info.shape) {
      if (size < 0 || __builtin_mul_overflow(place.bytes, size, &place.bytes))
        refuse(info.name, "its size overflows");
    }
    place.offset = info.offset.value_or(0);
    const bool inside = place.bytes == 0 || (info.offset && *info.offset > 0 &&
                                             place.bytes <= file_bytes_ - *info.offset);
    if (place.bytes != info.storage_bytes || !inside) {
      refuse(info.name,
             cat("needs ",
                 place.bytes,
                 " bytes; it has ",
                 info.storage_bytes,
                 " at offset ",
                 place.offset,
                 " of ",
                 file_bytes_));
    }
    out_.tensors.push_back(std::move(place));
  }

  Scalar scalar(const io::H5DatasetInfo& info, hid_t set, hid_t type) const {
    if (!info.shape.empty())
      refuse(info.name, cat("has a shape and no attribute ", kDtypeAttribute));
    const auto read = [&](void* into) {
      h5_check<DataError>(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, into),
                          "H5Dread",
                          where(info.name));
    };
    if (H5Tequal(type, H5T_STD_I64LE) > 0) {
      std::int64_t value = 0;
      read(&value);
      return value;
    }
    if (H5Tequal(type, H5T_IEEE_F64LE) > 0) {
      double value = 0;
      read(&value);
      return value;
    }
    const auto bytes = static_cast<std::int64_t>(H5Tget_size(type));
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 ||
        bytes > std::min(kMaxTextBytes, file_bytes_)) {
      refuse(info.name,
             cat("is a scalar of type ",
                 info.type,
                 "; int64, float64 and text of fixed length are allowed"));
    }
    std::string value(static_cast<std::size_t>(bytes), '\0');
    read(value.data());
    return value.substr(0, value.find('\0'));
  }

  void check_format() const {
    const auto format = out_.scalars.find(kFormatName);
    if (format == out_.scalars.end() || format->second != Scalar(kFormatText)) {
      throw DataError(cat(path_,
                          ": is not a checkpoint: ",
                          kFormatName,
                          " is missing or not '",
                          kFormatText,
                          "'"));
    }
    const auto version = out_.scalars.find(kFormatVersionName);
    const auto* number =
        version == out_.scalars.end() ? nullptr : std::get_if<std::int64_t>(&version->second);
    if (number == nullptr || *number != kFormatVersion) {
      throw DataError(cat(path_,
                          ": ",
                          kFormatVersionName,
                          " is ",
                          number ? cat(*number) : "missing",
                          "; this program reads version ",
                          kFormatVersion));
    }
  }

  std::string path_;
  std::int64_t file_bytes_;
  io::H5File file_;
  std::size_t objects_ = 0;
  std::set<haddr_t> groups_;
  Contents out_;
};

}  // namespace

Contents read_contents(const std::string& path) { return Reader(path).read(); }

// CBOR carries texts of any bytes. Reals travel as their bits: their payload counts.
std::string pack(const Contents& contents) {
  auto json = nlohmann::json::array({nlohmann::json::array(), nlohmann::json::array()});
  for (const auto& t : contents.tensors)
    json[0].push_back({t.name, t.dtype, t.shape, t.offset, t.bytes});
  for (const auto& [name, value] : contents.scalars) {
    nlohmann::json packed;
    if (const auto* number = std::get_if<std::int64_t>(&value)) packed = *number;
    if (const auto* real = std::get_if<double>(&value)) packed = std::bit_cast<std::int64_t>(*real);
    if (const auto* text = std::get_if<std::string>(&value)) packed = *text;
    json[1].push_back({name, value.index(), packed});
  }
  std::string out;
  nlohmann::json::to_cbor(json, out);
  return out;
}

Contents unpack(const std::string& packed) {
  const auto json = nlohmann::json::from_cbor(packed);
  Contents out;
  for (const auto& t : json.at(0))
    out.tensors.push_back({t.at(0), t.at(1), t.at(2), t.at(3), t.at(4)});
  for (const auto& s : json.at(1)) {
    auto& value = out.scalars[s.at(0)];
    const auto index = s.at(1).get<int>();
    if (index == 0) value = s.at(2).get<std::int64_t>();
    if (index == 1) value = std::bit_cast<double>(s.at(2).get<std::int64_t>());
    if (index == 2) value = s.at(2).get<std::string>();
  }
  return out;
}

}  // namespace lockstep::checkpoint
