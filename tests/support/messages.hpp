// SPDX-License-Identifier: MIT
// Looks at the text of errors: CHECK(lacks(message_of([&] { parse(wrong); }), {"--lr", "-1"}) ==
// "").
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace lockstep::test {

/// The text of the lockstep::Error that `work` throws; other exceptions pass.
inline std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

/// Empty where `text` holds all `parts`, else what is missing, for a failure that can be read.
inline std::string lacks(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (text.find(part) == std::string::npos) return "no \"" + part + "\" in: " + text;
  }
  return {};
}

}  // namespace lockstep::test
