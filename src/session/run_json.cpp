// SPDX-License-Identifier: MIT
#include "session/run_json.hpp"

#include <torch/version.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/clock.hpp"
#include "core/version.hpp"
#include "io/hdf5.hpp"

namespace lockstep::session {
namespace {

// /proc keeps the words of the command line with a zero byte behind each. The file says that it has
// no bytes: it is read to its end.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

}  // namespace

void publish_run_json(const RunFolder& folder, const launch::Runtime& runtime) {
  nlohmann::ordered_json out;
  out["started"] = utc_now();
  out["lockstep"] = kVersion;
  out["git"] = kGitRevision;
  out["compiler"] = kCompiler;
  out["torch"] = TORCH_VERSION;
  out["mpi"] = launch::Runtime::mpi_version();
  out["hdf5"] = io::hdf5_version();
  out["command"] = command_line();
  out["ranks"] = nlohmann::ordered_json::array();
  for (const auto& r : runtime.all()) {
    out["ranks"].push_back({{"rank", r.rank},
                            {"host", r.host},
                            {"node", r.node},
                            {"local_rank", r.local_rank},
                            {"cores", r.allowed_cores},
                            {"threads", r.threads}});
  }
  io::publish_text(folder.file("run.json"), out.dump(2) + "\n");
}

}  // namespace lockstep::session
