// SPDX-License-Identifier: MIT
// What this build is; the values are filled in when CMake configures.
#pragma once

namespace lockstep {

extern const char* const kVersion;      ///< "0.1.0"
extern const char* const kGitRevision;  ///< short hash at configure time, or "unknown"
extern const char* const kBuildType;    ///< "Release"
extern const char* const kCompiler;     ///< "GNU 12.2.0"
extern const char* const
    kSourceDir;  ///< where the sources lay; the shipped data set is found there before an install

}  // namespace lockstep
