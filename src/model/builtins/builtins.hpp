// SPDX-License-Identifier: MIT
// The factories of the models that Lockstep brings along, and the lines that --list-models shows.
#pragma once

#include <memory>

#include "model/network.hpp"

namespace lockstep::model {

inline constexpr const char* kMlpSummary =
    "fully connected layers with ReLU between: hidden=256,256 (empty: a linear model)";
inline constexpr const char* kCnnSummary =
    "two convolutions and two linear layers: width=32 batchnorm=0 dropout=0";
inline constexpr const char* kResnet50Summary =
    "ResNet-50 with torchvision's names: small=0 (1: 3x3 stem for small pictures)";
inline constexpr const char* kGptSummary =
    "GPT-2 over token ids: layers=4 heads=4 width=256 context=128 vocab=8192 dropout=0";

std::shared_ptr<Network> make_mlp(Spec& spec);
std::shared_ptr<Network> make_cnn(Spec& spec);
std::shared_ptr<Network> make_resnet50(Spec& spec);
std::shared_ptr<Network> make_gpt(Spec& spec);

}  // namespace lockstep::model
