// SPDX-License-Identifier: MIT
// The folder of a run: chosen, made and locked by rank 0, known to all.
#pragma once

#include <string>

#include "comm/communicator.hpp"
#include "io/file.hpp"

namespace lockstep::session {

class RunFolder {
 public:
  /// `wanted` empty: the next free runs/MODEL-NNNN. A used folder (one with checkpoints or metrics)
  /// is refused where `fresh` is set; one that another run holds is refused always
  /// (CannotCreateError, 73). Collective.
  RunFolder(const std::string& wanted,
            const std::string& model,
            bool fresh,
            comm::Communicator& communicator);

  const std::string& path() const { return path_; }
  /// A run was here before.
  bool used() const { return used_; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  void prepare(const std::string& wanted, const std::string& model, bool fresh);

  std::string path_;
  bool used_ = false;
  io::Fd lock_;  // rank 0 holds it while the run lives; the system lets go of it however the
                 // process ends
};

}  // namespace lockstep::session
