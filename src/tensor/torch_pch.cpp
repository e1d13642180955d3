// SPDX-License-Identifier: MIT
// Carries the one precompiled torch header; every target that sees LibTorch reuses it.
