// SPDX-License-Identifier: MIT
// The attribute half of H5File: texts of fixed length, integers, reals, and lists of them.
#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/hdf5.hpp"

namespace lockstep::io {
namespace {

constexpr std::int64_t kMaxElements = 1 << 16;
constexpr std::size_t kMaxTextBytes = 1 << 16;

// What an open attribute holds.
struct Content {
  H5Id type;
  H5T_class_t type_class = H5T_NO_CLASS;
  std::size_t text_bytes = 0;
  int rank = 0;
  std::int64_t elements = 0;
};

H5Id text_type(std::size_t bytes) {
  H5Id type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), std::max<std::size_t>(1, bytes));
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

H5Id list_space(std::size_t count) {
  const hsize_t extent = count;
  return H5Id(H5Screate_simple(1, &extent, nullptr));
}

std::optional<Content> content_of(hid_t attribute) {
  Content out{.type = H5Id(H5Aget_type(attribute))};
  const H5Id space(H5Aget_space(attribute));
  out.type_class = H5Tget_class(out.type.get());
  if (out.type_class == H5T_STRING) {
    if (H5Tis_variable_str(out.type.get()) != 0) return std::nullopt;
    out.text_bytes = H5Tget_size(out.type.get());
    if (out.text_bytes > kMaxTextBytes) return std::nullopt;
  } else if (out.type_class != H5T_INTEGER && out.type_class != H5T_FLOAT) {
    return std::nullopt;
  }
  out.rank = H5Sget_simple_extent_ndims(space.get());
  out.elements = H5Sget_simple_extent_npoints(space.get());
  if (out.rank < 0 || out.rank > 1 || out.elements < 0 || out.elements > kMaxElements)
    return std::nullopt;
  return out;
}

std::string text_at(const std::vector<char>& raw, std::size_t index, std::size_t bytes) {
  const std::string padded(raw.data() + index * bytes, bytes);
  return padded.substr(0, padded.find('\0'));
}

std::string kind_of(const std::optional<Content>& content) {
  if (!content) return "other";
  const char* single = content->type_class == H5T_STRING    ? "text"
                       : content->type_class == H5T_INTEGER ? "integer"
                                                            : "real";
  return content->rank == 0 ? single : cat(single, "s");
}

}  // namespace

H5Id H5File::open_attribute(const std::string& object, const std::string& name) const {
  const auto there = check(H5Aexists_by_name(id(), object.c_str(), name.c_str(), H5P_DEFAULT),
                           "H5Aexists_by_name",
                           object);
  if (there == 0) return {};
  return H5Id(check(H5Aopen_by_name(id(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
                    "H5Aopen_by_name",
                    object));
}

void H5File::put_attribute(const std::string& object,
                           const std::string& name,
                           hid_t type,
                           hid_t space,
                           const void* data) {
  const auto what = cat(object, "@", name);
  const H5Id attribute(check(H5Acreate_by_name(id(),
                                               object.c_str(),
                                               name.c_str(),
                                               type,
                                               space,
                                               H5P_DEFAULT,
                                               H5P_DEFAULT,
                                               H5P_DEFAULT),
                             "H5Acreate_by_name",
                             what));
  check(H5Awrite(attribute.get(), type, data), "H5Awrite", what);
}

void H5File::set_attribute(const std::string& object,
                           const std::string& name,
                           const std::string& value) {
  put_attribute(object,
                name,
                text_type(value.size()).get(),
                H5Id(H5Screate(H5S_SCALAR)).get(),
                value.c_str());
}
void H5File::set_attribute(const std::string& object, const std::string& name, std::int64_t value) {
  put_attribute(object, name, H5T_NATIVE_INT64, H5Id(H5Screate(H5S_SCALAR)).get(), &value);
}
void H5File::set_attribute(const std::string& object, const std::string& name, double value) {
  put_attribute(object, name, H5T_NATIVE_DOUBLE, H5Id(H5Screate(H5S_SCALAR)).get(), &value);
}
void H5File::set_attribute(const std::string& object,
                           const std::string& name,
                           std::span<const double> values) {
  put_attribute(object, name, H5T_NATIVE_DOUBLE, list_space(values.size()).get(), values.data());
}
void H5File::set_attribute(const std::string& object,
                           const std::string& name,
                           std::span<const std::string> values) {
  std::size_t bytes = 1;
  for (const auto& value : values) bytes = std::max(bytes, value.size());
  std::string raw(bytes * values.size(), '\0');
  for (std::size_t i = 0; i < values.size(); ++i)
    raw.replace(i * bytes, values[i].size(), values[i]);
  put_attribute(object, name, text_type(bytes).get(), list_space(values.size()).get(), raw.data());
}

std::vector<std::string> H5File::attribute_names(const std::string& object) const {
  std::vector<std::string> out;
  const auto collect = [](hid_t, const char* name, const H5A_info_t*, void* into) -> herr_t {
    static_cast<std::vector<std::string>*>(into)->emplace_back(name);
    return 0;
  };
  const H5Id opened(check(H5Oopen(id(), object.c_str(), H5P_DEFAULT), "H5Oopen", object));
  check(H5Aiterate2(opened.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &out),
        "H5Aiterate2",
        object);
  return out;
}

std::optional<std::string> H5File::attribute_kind(const std::string& object,
                                                  const std::string& name) const {
  const auto attribute = open_attribute(object, name);
  if (!attribute) return std::nullopt;
  return kind_of(content_of(attribute.get()));
}

template <class Element>
std::optional<std::vector<Element>> H5File::read_attribute(const std::string& object,
                                                           const std::string& name,
                                                           const std::string& wanted) const {
  const auto attribute = open_attribute(object, name);
  if (!attribute) return std::nullopt;
  const auto what = cat(object, "@", name);
  const auto content = content_of(attribute.get());
  const auto found = kind_of(content);
  const bool widened =
      (wanted == "real" && found == "integer") || (wanted == "reals" && found == "integers");
  if (found != wanted && !widened)
    throw DataError(
        cat(path_, ", attribute ", what, ": is of kind '", found, "', '", wanted, "' is needed"));
  const auto count = static_cast<std::size_t>(content->elements);
  std::vector<Element> out(count);
  if (count == 0) return out;
  if constexpr (std::is_same_v<Element, std::string>) {
    std::vector<char> raw(count * content->text_bytes);
    check(H5Aread(attribute.get(), content->type.get(), raw.data()), "H5Aread", what);
    for (std::size_t i = 0; i < count; ++i) out[i] = text_at(raw, i, content->text_bytes);
  } else {
    const auto type = std::is_same_v<Element, double> ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64;
    check(H5Aread(attribute.get(), type, out.data()), "H5Aread", what);
  }
  return out;
}

namespace {

template <class T>
std::optional<T> first_of(std::optional<std::vector<T>> values) {
  if (!values) return std::nullopt;
  return values->empty() ? T{} : std::move(values->front());
}

}  // namespace

std::optional<std::string> H5File::text_attribute(const std::string& object,
                                                  const std::string& name) const {
  return first_of(read_attribute<std::string>(object, name, "text"));
}
std::optional<std::int64_t> H5File::integer_attribute(const std::string& object,
                                                      const std::string& name) const {
  return first_of(read_attribute<std::int64_t>(object, name, "integer"));
}
std::optional<double> H5File::real_attribute(const std::string& object,
                                             const std::string& name) const {
  return first_of(read_attribute<double>(object, name, "real"));
}
std::optional<std::vector<double>> H5File::reals_attribute(const std::string& object,
                                                           const std::string& name) const {
  return read_attribute<double>(object, name, "reals");
}
std::optional<std::vector<std::string>> H5File::texts_attribute(const std::string& object,
                                                                const std::string& name) const {
  return read_attribute<std::string>(object, name, "texts");
}

}  // namespace lockstep::io
