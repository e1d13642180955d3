// SPDX-License-Identifier: MIT
// run.json: what the run ran on, for whoever asks later.
#pragma once

#include "launch/runtime.hpp"
#include "session/run_folder.hpp"

namespace lockstep::session {

/// Versions, hosts, launch line. Rank 0's job.
void publish_run_json(const RunFolder& folder, const launch::Runtime& runtime);

}  // namespace lockstep::session
