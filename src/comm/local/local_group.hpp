// SPDX-License-Identifier: MIT
// The local transport: ranks are threads of one process. Serves a single rank without MPI, the
// simulator and tests.
#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.hpp"

namespace lockstep::comm {

/// `ranks` communicators that talk to each other in memory; element r is rank r's and belongs to
/// that rank's thread. abort() on one of them makes every waiting and later call of the group throw
/// InternalError.
std::vector<std::unique_ptr<Communicator>> make_local_group(int ranks);

}  // namespace lockstep::comm
