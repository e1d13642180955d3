// SPDX-License-Identifier: MIT
// Failure agreement: after a local step that can fail, all ranks throw the same error or none does.
// A rank that threw alone between two collectives would leave the others waiting for ever.
#pragma once

#include <exception>
#include <string>

#include "comm/communicator.hpp"

namespace lockstep::comm {

/// An error that every rank of the communicator throws at the same place: nobody is left waiting,
/// so that the job can end in order. Any other exception is one rank's alone and has to abort the
/// job.
struct AgreedError : Error {
  using Error::Error;
};

/// Throws on every rank where any rank brings an exception: the error of the lowest failing rank,
/// "[rank R] " in front of its text, with its exit code (70 where it is none of ours), as an
/// AgreedError. Collective.
void agree(Communicator& communicator, const std::exception_ptr& mine);

/// Runs a local step and agrees on its outcome. Collective; `step` itself must not call
/// collectives.
template <class Step>
void agree_on(Communicator& communicator, Step&& step) {
  std::exception_ptr failure;
  try {
    step();
  } catch (...) {
    failure = std::current_exception();
  }
  agree(communicator, failure);
}

/// Throws AgreedError (78) on all ranks, naming the ranks, where the values differ. `what` says
/// what they are. Collective.
void agree_equal(Communicator& communicator, std::uint64_t value, const std::string& what);

/// Exit code and text of an exception, also of foreign ones.
struct Failure {
  ExitCode code = ExitCode::kInternal;
  std::string text;
};
Failure describe_failure(const std::exception_ptr& failure);

}  // namespace lockstep::comm
