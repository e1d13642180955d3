// SPDX-License-Identifier: MIT
#include "core/check.hpp"

namespace lockstep {

void assertion_failed(const char* expression,
                      const std::string& arguments,
                      std::source_location where) {
  throw InternalError(cat("assertion failed: ",
                          expression,
                          arguments.empty() ? "" : "; ",
                          arguments,
                          " (",
                          where.file_name(),
                          ":",
                          where.line(),
                          "). This is a bug in Lockstep"));
}

}  // namespace lockstep
