// SPDX-License-Identifier: MIT
// The dataset half of H5File: making, describing, reading and writing them.
#include <algorithm>
#include <array>

#include "core/check.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/detail/hdf5_types.hpp"
#include "io/hdf5.hpp"

namespace lockstep::io {
namespace {

using detail::native_of;
using detail::native_type;
using detail::property_list;
using detail::type_text;

std::vector<hsize_t> extents(const std::vector<std::int64_t>& shape) {
  return {shape.begin(), shape.end()};
}

H5Id space_of(const std::vector<std::int64_t>& shape) {
  const auto dims = extents(shape);
  return H5Id(dims.empty() ? H5Screate(H5S_SCALAR)
                           : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
}

std::vector<std::int64_t> shape_of(hid_t space) {
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  const int rank = H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  return {dims.begin(), dims.begin() + std::max(0, rank)};
}

std::int64_t elements_of(hid_t space) {
  return std::max<std::int64_t>(0, H5Sget_simple_extent_npoints(space));
}

}  // namespace

std::int64_t H5File::create_dataset(const std::string& name,
                                    H5Type type,
                                    const std::vector<std::int64_t>& shape) {
  const auto slash = name.rfind('/');
  if (slash != std::string::npos && slash > 0) make_group(name.substr(0, slash));
  const auto list = property_list(H5P_DATASET_CREATE);
  check(H5Pset_layout(list.get(), H5D_CONTIGUOUS), "H5Pset_layout", name);
  check(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time", name);
  check(H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER), "H5Pset_fill_time", name);
  check(H5Pset_obj_track_times(list.get(), false), "H5Pset_obj_track_times", name);
  const auto space = space_of(shape);
  check(space.get(), "H5Screate", name);
  const H5Id dataset(check(H5Dcreate2(id(),
                                      name.c_str(),
                                      native_type(type),
                                      space.get(),
                                      H5P_DEFAULT,
                                      list.get(),
                                      H5P_DEFAULT),
                           "H5Dcreate2",
                           name));
  const auto offset = H5Dget_offset(dataset.get());
  if (elements_of(space.get()) == 0) return 0;
  if (offset == HADDR_UNDEF) fail("H5Dget_offset", name);
  return static_cast<std::int64_t>(offset);
}

H5Id H5File::open_dataset(const std::string& name) const {
  if (!exists(name))
    throw DataError(cat(path_, ": has no dataset '", name, "' (links are not followed)"));
  return H5Id(check(H5Dopen2(id(), name.c_str(), H5P_DEFAULT), "H5Dopen2", name));
}

H5DatasetInfo H5File::info(const std::string& name) const {
  const auto dataset = open_dataset(name);
  const H5Id type(check(H5Dget_type(dataset.get()), "H5Dget_type", name));
  const H5Id space(check(H5Dget_space(dataset.get()), "H5Dget_space", name));
  const H5Id list(check(H5Dget_create_plist(dataset.get()), "H5Dget_create_plist", name));
  H5DatasetInfo out{.name = name,
                    .type = type_text(type.get()),
                    .native = native_of(type.get()),
                    .shape = shape_of(space.get())};
  switch (check(H5Pget_layout(list.get()), "H5Pget_layout", name)) {
    case H5D_COMPACT:
      out.layout = H5Layout::kCompact;
      break;
    case H5D_CONTIGUOUS:
      out.layout = H5Layout::kContiguous;
      break;
    case H5D_CHUNKED:
      out.layout = H5Layout::kChunked;
      break;
    default:
      out.layout = H5Layout::kVirtual;
      break;
  }
  out.external_files = check(H5Pget_external_count(list.get()), "H5Pget_external_count", name);
  const int filters = check(H5Pget_nfilters(list.get()), "H5Pget_nfilters", name);
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    std::array<char, 64> text{};
    const auto filter = H5Pget_filter2(list.get(),
                                       i,
                                       &flags,
                                       &values,
                                       nullptr,
                                       text.size() - 1,
                                       text.data(),
                                       nullptr);
    out.filters.push_back({.id = check(filter, "H5Pget_filter2", name), .name = text.data()});
  }
  if (out.layout == H5Layout::kContiguous && out.external_files == 0) {
    const auto offset = H5Dget_offset(dataset.get());
    if (offset != HADDR_UNDEF) out.offset = static_cast<std::int64_t>(offset);
    H5Eclear2(H5E_DEFAULT);
  }
  out.storage_bytes = static_cast<std::int64_t>(H5Dget_storage_size(dataset.get()));
  return out;
}

H5Id H5File::select_rows(hid_t dataset,
                         const std::string& name,
                         std::int64_t first_row,
                         std::size_t count,
                         H5Id& file_space) const {
  file_space = H5Id(check(H5Dget_space(dataset), "H5Dget_space", name));
  const auto shape = shape_of(file_space.get());
  const hsize_t total = count;
  H5Id memory_space(check(H5Screate_simple(1, &total, nullptr), "H5Screate_simple", name));
  if (shape.empty()) {
    LOCKSTEP_ASSERT(count == 1 && first_row == 0, "scalar ", name, " count ", count);
    return memory_space;
  }
  std::int64_t row_elements = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) row_elements *= shape[i];
  const std::int64_t rows = row_elements == 0 ? 0 : static_cast<std::int64_t>(count) / row_elements;
  LOCKSTEP_ASSERT(rows * row_elements == static_cast<std::int64_t>(count) && first_row >= 0 &&
                      first_row + rows <= shape[0],
                  name,
                  " rows ",
                  shape[0],
                  " first ",
                  first_row,
                  " elements ",
                  count);
  if (count == 0) {
    check(H5Sselect_none(file_space.get()), "H5Sselect_none", name);
    check(H5Sselect_none(memory_space.get()), "H5Sselect_none", name);
    return memory_space;
  }
  std::vector<hsize_t> start(shape.size(), 0);
  auto extent = extents(shape);
  start[0] = static_cast<hsize_t>(first_row);
  extent[0] = static_cast<hsize_t>(rows);
  check(H5Sselect_hyperslab(file_space.get(),
                            H5S_SELECT_SET,
                            start.data(),
                            nullptr,
                            extent.data(),
                            nullptr),
        "H5Sselect_hyperslab",
        name);
  return memory_space;
}

void H5File::write_raw(const std::string& name,
                       std::int64_t first_row,
                       const void* data,
                       std::size_t count,
                       H5Type type) {
  const auto dataset = open_dataset(name);
  H5Id file_space;
  const auto memory_space = select_rows(dataset.get(), name, first_row, count, file_space);
  check(H5Dwrite(dataset.get(),
                 native_type(type),
                 memory_space.get(),
                 file_space.get(),
                 H5P_DEFAULT,
                 data),
        "H5Dwrite",
        name);
}

void H5File::read_raw(const std::string& name,
                      std::int64_t first_row,
                      void* data,
                      std::size_t count,
                      H5Type type) const {
  const auto dataset = open_dataset(name);
  const H5Id stored(check(H5Dget_type(dataset.get()), "H5Dget_type", name));
  if (H5Tequal(stored.get(), native_type(type)) <=
      0) {  // HDF5 would convert, slowly and by saturation
    throw DataError(cat(path_,
                        ", ",
                        name,
                        ": is ",
                        type_text(stored.get()),
                        ", ",
                        h5_type_name(type),
                        " is needed"));
  }
  H5Id file_space;
  const auto memory_space = select_rows(dataset.get(), name, first_row, count, file_space);
  check(H5Dread(dataset.get(),
                native_type(type),
                memory_space.get(),
                file_space.get(),
                H5P_DEFAULT,
                data),
        "H5Dread",
        name);
}

}  // namespace lockstep::io
