// SPDX-License-Identifier: MIT
#include "io/hdf5.hpp"

#include <array>
#include <cstdio>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/detail/hdf5_types.hpp"
#include "io/file.hpp"

namespace lockstep::io {
namespace {

using detail::property_list;

// HDF5's own words for the innermost cause of the last failure.
std::string innermost_error() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT,
      H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* entry, void* out) -> herr_t {
        *static_cast<std::string*>(out) = cat(entry->desc, " (", entry->func_name, ")");
        return 1;  // the first one is enough
      },
      &text);
  H5Eclear2(H5E_DEFAULT);
  return text.empty() ? "HDF5 gave no reason" : text;
}

// Whether a failure is a file that ended early: HDF5 knows how long it should be.
std::string truncation_text(const std::string& reason) {
  unsigned long long found = 0, base = 0, expected = 0;
  const char* kPattern = "truncated file: eof = %llu, sblock->base_addr = %llu, stored_eof = %llu";
  if (std::sscanf(reason.c_str(), kPattern, &found, &base, &expected) != 3) return "";
  return cat("truncated: ",
             found,
             " bytes found, ",
             base + expected,
             " expected; copy or pack it again");
}

// Kind and signature of a file before HDF5 sees it.
void refuse_unreadable(const std::string& path) {
  constexpr std::array<unsigned char, 8> kSignature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  const Fd fd = open_to_read(path);
  const auto bytes = file_bytes(fd, path);
  if (bytes == 0) throw DataError(cat(path, ": is empty (0 bytes); an HDF5 file is needed"));
  std::array<unsigned char, 8> head{};
  if (bytes >= 8) pread_all(fd, std::as_writable_bytes(std::span(head)), 0, path);
  if (head != kSignature) {
    throw DataError(
        cat(path, ": is not an HDF5 file (its first 8 bytes are not HDF5's signature)"));
  }
}

}  // namespace

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return cat(major, ".", minor, ".", release);
}

void start_hdf5() {
  static const bool started = [] {
    H5PLset_loading_state(0);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    return true;
  }();
  (void)started;
}

void H5IdTraits::close(hid_t id) noexcept {
  switch (H5Iget_type(id)) {
    case H5I_FILE:
      H5Fclose(id);
      break;
    case H5I_GROUP:
      H5Gclose(id);
      break;
    case H5I_DATATYPE:
      H5Tclose(id);
      break;
    case H5I_DATASPACE:
      H5Sclose(id);
      break;
    case H5I_DATASET:
      H5Dclose(id);
      break;
    case H5I_ATTR:
      H5Aclose(id);
      break;
    case H5I_GENPROP_LST:
      H5Pclose(id);
      break;
    default:
      H5Idec_ref(id);
      break;
  }
}

void H5File::fail(const std::string& call, const std::string& object) const {
  const auto reason = innermost_error();
  const auto text = cat(path_, object.empty() ? "" : ", ", object, ": ", call, " failed: ", reason);
  if (writable_) throw IoError(text);
  throw DataError(text);
}

H5File H5File::create(const std::string& path, const H5CreateOptions& options) {
  start_hdf5();
  H5File file(path, true);
  const auto create_list = property_list(H5P_FILE_CREATE);
  const auto access_list = property_list(H5P_FILE_ACCESS);
  file.check(H5Pset_obj_track_times(create_list.get(), false), "H5Pset_obj_track_times", "");
  file.check(H5Pset_alignment(access_list.get(), options.align_from_bytes, options.align_bytes),
             "H5Pset_alignment",
             "");
  file.check(H5Pset_fclose_degree(access_list.get(), H5F_CLOSE_SEMI), "H5Pset_fclose_degree", "");
  // EXCL: a file that somebody else made is never overwritten.
  file.id_ = H5Id(H5Fcreate(path.c_str(), H5F_ACC_EXCL, create_list.get(), access_list.get()));
  if (!file.id_) throw CannotCreateError(cat(path, ": cannot be created: ", innermost_error()));
  return file;
}

H5File H5File::open_to_read(const std::string& path, bool lock) {
  start_hdf5();
  refuse_unreadable(path);
  H5File file(path, false);
  const auto access_list = property_list(H5P_FILE_ACCESS);
  file.check(H5Pset_fclose_degree(access_list.get(), H5F_CLOSE_SEMI), "H5Pset_fclose_degree", "");
#if H5_VERSION_GE(1, 10, 7)
  if (!lock)
    file.check(H5Pset_file_locking(access_list.get(), false, true), "H5Pset_file_locking", "");
#else
  (void)lock;  // older libraries know the variable HDF5_USE_FILE_LOCKING only
#endif
  file.id_ = H5Id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access_list.get()));
  if (!file.id_) {
    const auto reason = innermost_error();
    const auto truncation = truncation_text(reason);
    throw DataError(
        cat(path, ": ", truncation.empty() ? cat("HDF5 cannot open it: ", reason) : truncation));
  }
  return file;
}

std::int64_t H5File::user_block_bytes() const {
  const H5Id list(check(H5Fget_create_plist(id()), "H5Fget_create_plist", ""));
  hsize_t bytes = 0;
  check(H5Pget_userblock(list.get(), &bytes), "H5Pget_userblock", "");
  return static_cast<std::int64_t>(bytes);
}

void H5File::close() {
  if (id_) check(H5Fclose(id_.release()), "H5Fclose", "");
}

void H5File::make_group(const std::string& name) {
  std::string path;
  for (const auto& part : split(name, '/')) {
    if (part.empty()) continue;
    path += cat("/", part);
    if (exists(path)) continue;
    const auto list = property_list(H5P_GROUP_CREATE);
    check(H5Pset_obj_track_times(list.get(), false), "H5Pset_obj_track_times", path);
    H5Id(check(H5Gcreate2(id(), path.c_str(), H5P_DEFAULT, list.get(), H5P_DEFAULT),
               "H5Gcreate2",
               path));
  }
}

std::vector<H5Link> H5File::links(const std::string& group, std::int64_t limit) const {
  const H5Id opened(check(H5Gopen2(id(), group.c_str(), H5P_DEFAULT), "H5Gopen2", group));
  H5G_info_t info{};
  check(H5Gget_info(opened.get(), &info), "H5Gget_info", group);
  if (info.nlinks > static_cast<hsize_t>(limit)) {
    throw DataError(cat(path_,
                        ", ",
                        group,
                        ": holds ",
                        info.nlinks,
                        " names; at most ",
                        limit,
                        " are accepted"));
  }
  std::vector<H5Link> out;
  const auto collect =
      [](hid_t where, const char* name, const H5L_info_t* link, void* into) -> herr_t {
    H5Link entry{.name = name};
    entry.kind = link->type == H5L_TYPE_HARD       ? H5Link::Kind::kHard
                 : link->type == H5L_TYPE_SOFT     ? H5Link::Kind::kSoft
                 : link->type == H5L_TYPE_EXTERNAL ? H5Link::Kind::kExternal
                                                   : H5Link::Kind::kOther;
    if (entry.kind == H5Link::Kind::kHard) {
      const H5Id object(H5Oopen(where, name, H5P_DEFAULT));
      if (!object) return -1;
      const auto type = H5Iget_type(object.get());
      if (type == H5I_GROUP) entry.object = H5Link::Object::kGroup;
      if (type == H5I_DATASET) entry.object = H5Link::Object::kDataset;
    }
    static_cast<std::vector<H5Link>*>(into)->push_back(std::move(entry));
    return 0;
  };
  check(H5Literate(opened.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &out),
        "H5Literate",
        group);
  return out;
}

bool H5File::exists(const std::string& name) const {
  std::string path;
  for (const auto& part : split(name, '/')) {
    if (part.empty()) continue;
    path += cat("/", part);
    if (check(H5Lexists(id(), path.c_str(), H5P_DEFAULT), "H5Lexists", path) == 0) return false;
    H5L_info_t link{};
    check(H5Lget_info(id(), path.c_str(), &link, H5P_DEFAULT), "H5Lget_info", path);
    if (link.type != H5L_TYPE_HARD) return false;
  }
  return true;
}

}  // namespace lockstep::io
