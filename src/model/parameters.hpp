// SPDX-License-Identifier: MIT
// Which parameters a network has, and which of them are trained. A tied tensor is one parameter,
// under its first name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/network.hpp"
#include "tensor/bridge.hpp"

namespace lockstep::model {

/// All parameters in registration order, frozen ones included, tied ones once.
std::vector<NamedTensor> unique_parameters(const Network& network);

/// Those of unique_parameters() that require a gradient.
std::vector<NamedTensor> trainable_parameters(const Network& network);

/// Parameters and buffers as checkpoints name them: "model/conv1.weight". The live tensors.
std::vector<NamedTensor> named_state(const Network& network);

/// Takes the gradient from every parameter of which a name matches one of the patterns (regular
/// expressions on the whole name). Returns how many parameters matched. Throws ConfigError for a
/// wrong pattern, one that matches nothing, or when nothing is left to train.
std::int64_t apply_freeze(Network& network, const std::vector<std::string>& patterns);

/// Throws ConfigError, naming the parameter, unless every parameter can be relocated: a dense leaf
/// in memory of its own, with elements, floating point; the same tensor under several names is tied
/// and allowed. Also refuses a network without any.
void check_contract(const Network& network, const std::string& model);

}  // namespace lockstep::model
