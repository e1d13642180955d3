// SPDX-License-Identifier: MIT
// An environment variable with another value, or without one, for the length of a scope.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace lockstep::test {

class ScopedVariable {
 public:
  /// A null value takes the variable away.
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* const was = std::getenv(name)) was_ = was;
    set(value);
  }
  ~ScopedVariable() { set(was_ ? was_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void set(const char* value) {
    if (value) {
      setenv(name_.c_str(), value, 1);
    } else {
      unsetenv(name_.c_str());
    }
  }

  std::string name_;
  std::optional<std::string> was_;
};

}  // namespace lockstep::test
