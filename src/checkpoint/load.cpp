// SPDX-License-Identifier: MIT
// Loading: rank 0 reads the tree, all ranks compare it with their state, then each reads the bytes
// of its tensors.
#include <torch/types.h>

#include <algorithm>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/contents.hpp"
#include "checkpoint/skeleton.hpp"
#include "checkpoint/types.hpp"
#include "comm/agree.hpp"
#include "core/error.hpp"
#include "io/file.hpp"
#include "io/hdf5.hpp"

namespace lockstep::checkpoint {
namespace {

std::string kind(const TensorPlace& place) {
  return cat(place.dtype, " ", shape_text(place.shape));
}
std::string kind(const torch::Tensor& tensor) {
  return cat(dtype_text(tensor.scalar_type()), " ", shape_text(tensor.sizes()));
}

// Both sides by name; all differences at once, each on a line.
void compare(const std::string& path, const Contents& contents, const State& state) {
  const auto wanted = by_name(state);
  std::vector<std::string> lines;
  auto place = contents.tensors.begin();
  auto want = wanted.begin();
  while (place != contents.tensors.end() || want != wanted.end()) {
    if (want == wanted.end() || (place != contents.tensors.end() && place->name < (*want)->name)) {
      lines.push_back(cat(place->name, ": in the file ", kind(*place), ", not in the model"));
      ++place;
    } else if (place == contents.tensors.end() || (*want)->name < place->name) {
      lines.push_back(
          cat((*want)->name, ": not in the file, in the model ", kind((*want)->tensor)));
      ++want;
    } else {
      if (kind(*place) != kind((*want)->tensor)) {
        lines.push_back(cat(place->name,
                            ": in the file ",
                            kind(*place),
                            ", in the model ",
                            kind((*want)->tensor)));
      }
      ++place;
      ++want;
    }
  }
  if (lines.empty()) return;
  throw DataError(cat(path,
                      " does not fit the model; ",
                      lines.size(),
                      " differences:\n  ",
                      join(lines, "\n  ")));
}

void read_tensor(const io::Fd& fd,
                 const TensorPlace& place,
                 const torch::Tensor& tensor,
                 const std::string& path) {
  if (place.bytes == 0) return;
  const auto into = tensor.is_contiguous()
                        ? tensor
                        : torch::empty(tensor.sizes(), tensor.options().requires_grad(false));
  io::pread_all(fd,
                {static_cast<std::byte*>(into.data_ptr()), static_cast<std::size_t>(place.bytes)},
                place.offset,
                path);
  if (!tensor.is_contiguous()) tensor.copy_(into);
}

void read_tensors(const std::string& path, const Contents& contents, const State& state) {
  const torch::NoGradGuard no_grad;
  const auto fd = io::open_to_read(path);
  const auto wanted = by_name(state);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    read_tensor(fd, contents.tensors[i], wanted[i]->tensor, path);
}

}  // namespace

void load(const std::string& path,
          State& state,
          comm::Communicator& communicator,
          const std::string& prefix) {
  std::string packed;
  comm::agree_on(communicator, [&] {
    check_state(state);
    if (communicator.rank() == 0) packed = pack(read_contents(path));
  });
  auto contents = unpack(communicator.broadcast(std::move(packed), 0));
  std::erase_if(contents.tensors,
                [&](const TensorPlace& place) { return !place.name.starts_with(prefix); });
  comm::agree_on(communicator, [&] { compare(path, contents, state); });
  comm::agree_on(communicator, [&] { read_tensors(path, contents, state); });
  contents.scalars.erase(kFormatName);
  contents.scalars.erase(kFormatVersionName);
  state.scalars = std::move(contents.scalars);
}

bool is_checkpoint(const std::string& path) {
  return io::H5File::open_to_read(path).exists(kFormatName);
}

std::map<std::string, Scalar> read_scalars(const std::string& path) {
  return read_contents(path).scalars;
}

std::vector<Entry> list(const std::string& path) {
  std::vector<Entry> out;
  const auto contents = read_contents(path);
  for (const auto& t : contents.tensors)
    out.push_back({t.name, t.dtype, shape_text(t.shape), t.bytes});
  for (const auto& [name, value] : contents.scalars) {
    constexpr const char* kKinds[] = {"int64", "float64", "text"};
    const auto* text = std::get_if<std::string>(&value);
    out.push_back({name,
                   kKinds[value.index()],
                   "scalar",
                   text ? static_cast<std::int64_t>(text->size()) : 8});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

}  // namespace lockstep::checkpoint
