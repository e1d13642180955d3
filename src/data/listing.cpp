// SPDX-License-Identifier: MIT
#include "data/listing.hpp"

#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/file.hpp"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  const int code = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> out(found.gl_pathv, found.gl_pathv + (code == 0 ? found.gl_pathc : 0));
  ::globfree(&found);
  return out;
}

std::vector<std::string> shards_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto ending = entry.path().extension();
    if (ending == ".h5" || ending == ".hdf5") out.push_back(entry.path().string());
  }
  return out;
}

Listing list_folder(const std::string& folder) {
  Listing out;
  const auto index_path = (fs::path(folder) / kIndexName).string();
  if (!fs::exists(index_path)) {
    out.files = shards_in(folder);
    if (out.files.empty())
      throw MissingInputError(cat(folder, ": holds neither ", kIndexName, " nor shards (*.h5)"));
    return out;
  }
  out.index = parse_index(io::read_text(index_path), index_path);
  for (const auto& entry : out.index->shards)
    out.files.push_back((fs::path(folder) / entry.file).string());
  return out;
}

}  // namespace

Listing list_shards(const std::string& path) try {
  Listing out;
  const auto type = fs::status(path).type();  // throws where a folder on the way cannot be searched
  if (type == fs::file_type::directory) {
    out = list_folder(path);
  } else if (type != fs::file_type::not_found) {
    out.files = {fs::canonical(path).string()};
  } else if (path.find_first_of("*?[") != std::string::npos) {
    out.files = matches(path);
    if (out.files.empty()) throw MissingInputError(cat(path, ": the pattern matches no file"));
  } else {
    const char* what =
        fs::is_symlink(path) ? "is a link to a file that is not there" : "no such file or folder";
    throw MissingInputError(
        cat(path, ": ", what, "; needed: a folder of shards, one .h5 file or a quoted pattern"));
  }
  if (!out.index) std::sort(out.files.begin(), out.files.end());
  return out;
} catch (const fs::filesystem_error& error) {
  throw IoError(cat(path, ": cannot be looked through: ", error.code().message()));
}

}  // namespace lockstep::data
