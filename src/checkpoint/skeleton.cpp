// SPDX-License-Identifier: MIT
#include "checkpoint/skeleton.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "checkpoint/image.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/types.hpp"
#include "core/check.hpp"
#include "core/error.hpp"
#include "io/file.hpp"

namespace lockstep::checkpoint {
namespace {

using io::H5Id;

template <class Result>
Result check(Result result, const char* call, const std::string& where) {
  return h5_check<IoError>(result, call, where);
}

void check_name(const std::string& name) {
  const auto parts = split(name, '/');
  const bool good = !parts.empty() && name.find('\0') == std::string::npos &&
                    std::none_of(parts.begin(), parts.end(), [](const auto& part) {
                      return part.empty() || part == "." || part == "..";
                    });
  LOCKSTEP_ASSERT(good, "name in a checkpoint: '", name, "'");
}

// Creates datasets in the order of calls. All lists are fixed: the bytes must depend on nothing
// else.
class Writer {
 public:
  explicit Writer(const std::string& path) : path_(path) {
    io::start_hdf5();
    const H5Id create_list(H5Pcreate(H5P_FILE_CREATE));
    const H5Id access_list(H5Pcreate(H5P_FILE_ACCESS));
    check(H5Pset_obj_track_times(create_list.get(), false), "H5Pset_obj_track_times", path);
    // The 1.8 format has checksums in its metadata and no flag that says "still open for writing".
    check(H5Pset_libver_bounds(access_list.get(), H5F_LIBVER_V18, H5F_LIBVER_V18),
          "H5Pset_libver_bounds",
          path);
    check(H5Pset_alignment(access_list.get(), 65536, 4096), "H5Pset_alignment", path);
    // The usual driver wants the real path behind /proc/self/fd, which memory has not.
    check(H5Pset_fapl_stdio(access_list.get()), "H5Pset_fapl_stdio", path);
    file_ = H5Id(check(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, create_list.get(), access_list.get()),
                       "H5Fcreate",
                       path));
  }

  /// Closes and tells what went wrong, which a destructor cannot.
  void close() { check(H5Fclose(file_.release()), "H5Fclose", path_); }

  /// Offset of the data in the file, 0 where there is none.
  std::int64_t tensor(const NamedTensor& named) {
    std::vector<hsize_t> dims;
    for (const auto size : named.tensor.sizes()) dims.push_back(static_cast<hsize_t>(size));
    const H5Id space(dims.empty()
                         ? H5Screate(H5S_SCALAR)
                         : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
    const H5Id type = file_type(named.tensor.scalar_type());
    const H5Id set = dataset(named.name, type.get(), space.get());
    const std::string dtype = dtype_text(named.tensor.scalar_type());
    const H5Id dtype_type = text_type(dtype.size());
    const H5Id one(H5Screate(H5S_SCALAR));
    const H5Id attribute(check(H5Acreate2(set.get(),
                                          kDtypeAttribute,
                                          dtype_type.get(),
                                          one.get(),
                                          H5P_DEFAULT,
                                          H5P_DEFAULT),
                               "H5Acreate2",
                               where(named.name)));
    check(H5Awrite(attribute.get(), dtype_type.get(), dtype.data()), "H5Awrite", where(named.name));
    if (named.tensor.numel() == 0) return 0;
    const auto offset = H5Dget_offset(set.get());
    if (offset == HADDR_UNDEF)
      throw IoError(cat(where(named.name), ": H5Dget_offset failed: ", h5_reason()));
    return static_cast<std::int64_t>(offset);
  }

  void scalar(const std::string& name, const Scalar& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      put(name, H5T_STD_I64LE, number);
    } else if (const auto* real = std::get_if<double>(&value)) {
      put(name, H5T_IEEE_F64LE, real);
    } else {
      const auto& text = std::get<std::string>(value);
      put(name, text_type(text.size()).get(), text.c_str());
    }
  }

 private:
  std::string where(const std::string& name) const { return cat(path_, ", ", name); }

  void put(const std::string& name, hid_t type, const void* value) {
    const H5Id one(H5Screate(H5S_SCALAR));
    const H5Id set = dataset(name, type, one.get());
    check(H5Dwrite(set.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value), "H5Dwrite", where(name));
  }

  H5Id dataset(const std::string& name, hid_t type, hid_t space) {
    for (auto slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
      group(name.substr(0, slash));
    const H5Id list(H5Pcreate(H5P_DATASET_CREATE));
    check(H5Pset_layout(list.get(), H5D_CONTIGUOUS), "H5Pset_layout", where(name));
    check(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time", where(name));
    check(H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER), "H5Pset_fill_time", where(name));
    check(H5Pset_obj_track_times(list.get(), false), "H5Pset_obj_track_times", where(name));
    return H5Id(check(
        H5Dcreate2(file_.get(), name.c_str(), type, space, H5P_DEFAULT, list.get(), H5P_DEFAULT),
        "H5Dcreate2",
        where(name)));
  }

  void group(const std::string& name) {
    if (!groups_.insert(name).second) return;
    const H5Id list(H5Pcreate(H5P_GROUP_CREATE));
    check(H5Pset_obj_track_times(list.get(), false), "H5Pset_obj_track_times", where(name));
    H5Id(check(H5Gcreate2(file_.get(), name.c_str(), H5P_DEFAULT, list.get(), H5P_DEFAULT),
               "H5Gcreate2",
               where(name)));
  }

  std::string path_;
  H5Id file_;
  std::set<std::string> groups_;
};

// Reads what lies between the tensors of the closed skeleton.
std::string read_gaps(const io::Fd& fd,
                      const std::string& path,
                      const std::vector<Range>& taken,
                      std::int64_t file_bytes) {
  std::string out;
  for (const auto& gap : gaps_between(taken, file_bytes)) {
    const auto at = out.size();
    out.resize(at + static_cast<std::size_t>(gap.size()));
    io::pread_all(fd, std::as_writable_bytes(std::span(out).subspan(at)), gap.begin, path);
  }
  return out;
}

}  // namespace

std::vector<const NamedTensor*> by_name(const State& state) {
  std::vector<const NamedTensor*> out;
  for (const auto& named : state.tensors) out.push_back(&named);
  std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  return out;
}

void check_state(const State& state) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : state.tensors) {
    check_name(name);
    LOCKSTEP_ASSERT(names.insert(name).second, "two tensors named ", name);
    LOCKSTEP_ASSERT(tensor.defined() && tensor.device().is_cpu() &&
                        tensor.layout() == torch::kStrided && tensor.dim() <= 8,
                    "tensor ",
                    name,
                    " must be a dense CPU tensor of at most 8 dimensions");
    LOCKSTEP_ASSERT(type_of_text(dtype_text(tensor.scalar_type())),
                    "tensor ",
                    name,
                    " is ",
                    dtype_text(tensor.scalar_type()));
  }
  for (const auto& [name, value] : state.scalars) {
    check_name(name);
    LOCKSTEP_ASSERT(names.insert(name).second, "a tensor and a scalar named ", name);
    const auto* text = std::get_if<std::string>(&value);
    LOCKSTEP_ASSERT(text == nullptr || text->find('\0') == std::string::npos,
                    "scalar ",
                    name,
                    " holds a zero byte");
  }
  // Sorted, a name that is also a group has one of its members somewhere behind it.
  for (const auto& name : names) {
    const auto member = names.lower_bound(name + "/");
    LOCKSTEP_ASSERT(member == names.end() || !member->starts_with(name + "/"),
                    "'",
                    name,
                    "' is also the group of '",
                    *member,
                    "'");
  }
}

std::int64_t estimate_bytes(const State& state) {
  constexpr std::int64_t kPerObject = 1024, kAround = 65536;
  std::int64_t bytes = kAround + kPerObject * static_cast<std::int64_t>(state.scalars.size());
  for (const auto& named : state.tensors) {
    const auto own = named.tensor.numel() * named.tensor.element_size();
    bytes += own + kPerObject + (own >= 65536 ? 4096 : 0);
  }
  return bytes;
}

Skeleton make_skeleton(const State& state) {
  // A file without a name: memory where something was written, nothing where tensors will be.
  const io::Fd memory(::memfd_create("checkpoint", MFD_CLOEXEC));
  if (!memory) throw IoError(cat("memfd_create failed: ", std::strerror(errno)));
  const auto path = cat("/proc/self/fd/", memory.get());
  auto scalars = state.scalars;
  scalars[kFormatName] = kFormatText;
  scalars[kFormatVersionName] = kFormatVersion;
  Writer writer(path);
  Skeleton out;
  std::vector<Range> taken;
  auto scalar = scalars.begin();
  for (const auto* named : by_name(state)) {
    for (; scalar != scalars.end() && scalar->first < named->name; ++scalar)
      writer.scalar(scalar->first, scalar->second);
    const auto offset = writer.tensor(*named);
    out.offsets.push_back(offset);
    taken.push_back(
        {offset,
         offset + named->tensor.numel() * static_cast<std::int64_t>(named->tensor.element_size())});
  }
  for (; scalar != scalars.end(); ++scalar) writer.scalar(scalar->first, scalar->second);
  writer.close();
  out.file_bytes = io::file_bytes(memory, path);
  out.gaps = read_gaps(memory, path, taken, out.file_bytes);
  return out;
}

}  // namespace lockstep::checkpoint
