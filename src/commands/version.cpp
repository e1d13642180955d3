// SPDX-License-Identifier: MIT
#include <ATen/Version.h>
#include <torch/version.h>

#include "commands/command.hpp"
#include "core/text.hpp"
#include "core/version.hpp"
#include "io/hdf5.hpp"

namespace lockstep::commands {

std::string version_text() {
  return cat("Lockstep ",
             kVersion,
             " (",
             kGitRevision,
             ", ",
             kBuildType,
             ", ",
             kCompiler,
             ")\n",
             "  LibTorch  ",
             TORCH_VERSION,
             "\n",
             "  MPI       ",
             launch::Runtime::mpi_version(),
             "\n",
             "  HDF5      ",
             io::hdf5_version(),
             ", parallel\n",
             "  CPU       ",
             at::get_cpu_capability(),
             "\n",
             "  features  cpu; no CUDA, no NCCL\n");
}

}  // namespace lockstep::commands
