// SPDX-License-Identifier: MIT
// The MPI transport: an own duplicate of the communicator that it is given.
#pragma once

#include <mpi.h>

#include "comm/communicator.hpp"

namespace lockstep::comm {

/// Duplicates `parent` and owns the duplicate. Collective over `parent`.
std::unique_ptr<Communicator> make_mpi_communicator(MPI_Comm parent);

/// Throws InternalError with MPI's own text where `code` is not MPI_SUCCESS.
void check_mpi(int code, const char* call);

}  // namespace lockstep::comm
