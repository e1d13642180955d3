// SPDX-License-Identifier: MIT
// The errors that users and the world cause, each with the exit code that the process ends with.
// Bugs are assertions (core/check.hpp). Only main turns an Error into a message and a code.
#pragma once

#include <stdexcept>
#include <string>

namespace lockstep {

/// Exit codes are a contract with job scripts (README, table "Exit codes").
enum class ExitCode : int {
  kDone = 0,
  kUsage = 64,         ///< wrong command line
  kBadData = 65,       ///< a shard or a checkpoint is damaged or does not fit
  kMissingInput = 66,  ///< an input file or folder is not there
  kInternal = 70,      ///< a bug, or three starts without progress
  kCannotCreate = 73,  ///< an output file or folder cannot be made
  kIo = 74,            ///< reading or writing failed
  kRankLost = 75,      ///< a rank was lost or stuck; safe to requeue
  kNotFinite = 76,     ///< loss or gradients are not finite
  kConfig = 78,        ///< wrong config file, or a config that does not fit the checkpoint
  kStopped = 85,       ///< stopped by a signal or the time budget with a checkpoint; requeue
};

/// Base of everything that Lockstep throws on purpose: a text for people and the exit code.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

struct UsageError : Error {
  explicit UsageError(const std::string& text) : Error(ExitCode::kUsage, text) {}
};
struct ConfigError : Error {
  explicit ConfigError(const std::string& text) : Error(ExitCode::kConfig, text) {}
};
struct DataError : Error {
  explicit DataError(const std::string& text) : Error(ExitCode::kBadData, text) {}
};
struct MissingInputError : Error {
  explicit MissingInputError(const std::string& text) : Error(ExitCode::kMissingInput, text) {}
};
struct CannotCreateError : Error {
  explicit CannotCreateError(const std::string& text) : Error(ExitCode::kCannotCreate, text) {}
};
struct IoError : Error {
  explicit IoError(const std::string& text) : Error(ExitCode::kIo, text) {}
};
struct NotFiniteError : Error {
  explicit NotFiniteError(const std::string& text) : Error(ExitCode::kNotFinite, text) {}
};
struct InternalError : Error {
  explicit InternalError(const std::string& text) : Error(ExitCode::kInternal, text) {}
};

}  // namespace lockstep
