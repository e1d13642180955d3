// SPDX-License-Identifier: MIT
// The operators that this room overrides, each registered once per process.
#pragma once

namespace lockstep::detail {

/// aten::batch_norm and aten::instance_norm on the CPU.
void install_batch_norm_override();
/// aten::dropout and its relatives on the CPU.
void install_dropout_override();

}  // namespace lockstep::detail
