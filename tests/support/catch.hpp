// SPDX-License-Identifier: MIT
// Catch2, of whichever major version is there. LibTorch's logging header, which the precompiled
// header brings along, has a CHECK of its own: the tests' CHECK is Catch2's.
#pragma once

#undef CHECK
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // where version 2 has it
#else
#include <catch2/catch.hpp>
#endif
