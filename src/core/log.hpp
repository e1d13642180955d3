// SPDX-License-Identifier: MIT
// The log for people, on stderr. Rank 0 prints everything, the others warnings and errors with
// their rank in front. Before set_rank() the process speaks as if it were alone.
#pragma once

#include <string_view>

namespace lockstep::log {

/// Call once, right after ranks are known. Not thread-safe against concurrent logging.
void set_rank(int rank);

void info(std::string_view text);
void warn(std::string_view text);
void error(std::string_view text);

}  // namespace lockstep::log
