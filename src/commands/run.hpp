// SPDX-License-Identifier: MIT
// The front door: the whole program as one call. main.cpp is this call; a program with own models
// brings Extensions.
#pragma once

#include "session/session.hpp"

namespace lockstep {

using session::Extensions;

/// Runs `trainer` with these arguments and returns the exit code of the process. Collective over
/// all ranks. Starts MPI and ends it, unless extensions.communicator is set. Where one rank fails
/// alone it prints why and aborts the job with the code.
int run(int argc, char** argv, const Extensions& extensions = {});

}  // namespace lockstep
