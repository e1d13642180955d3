// SPDX-License-Identifier: MIT
// Assertions for bugs, never reachable by input. They stay on in release builds: their cost is a
// branch.
#pragma once

#include <source_location>
#include <string>

#include "core/error.hpp"
#include "core/text.hpp"

namespace lockstep {

[[noreturn]] void assertion_failed(const char* expression,
                                   const std::string& arguments,
                                   std::source_location where);

}  // namespace lockstep

/// Throws InternalError with the expression, its arguments and the place unless the condition
/// holds. LOCKSTEP_ASSERT(begin <= end, "begin ", begin, " end ", end)
#define LOCKSTEP_ASSERT(condition, ...)                              \
  do {                                                               \
    if (!(condition)) [[unlikely]] {                                 \
      ::lockstep::assertion_failed(#condition,                       \
                                   ::lockstep::cat(__VA_ARGS__),     \
                                   std::source_location::current()); \
    }                                                                \
  } while (false)
