// SPDX-License-Identifier: MIT
// Update strategy "replicated": every rank holds all parameters and moments and makes the whole
// update itself, from reduced gradients. Same inputs, same arithmetic: the replicas stay equal bit
// for bit.
#pragma once

#include <vector>

#include "optim/optimizer.hpp"
#include "tensor/bridge.hpp"

namespace lockstep::parallel {

class Replicated {
 public:
  /// Parameters are fp32 CPU leaves whose .grad stays the same tensor from step to step.
  Replicated(std::vector<NamedTensor> parameters, const optim::Hyper& hyper);

  /// Euclidean norm over all gradients, times |scale|; sums are formed in double over blocks of 64
  /// Ki elements.
  double gradient_norm(double scale) const;
  /// One update with gradients * scale. Parameters with skip[i] != 0 stay as they are, with their
  /// moments.
  void update(const optim::Hyper& hyper, double scale, const std::vector<char>& skip);

  /// Moments and step counts by name: "optim/conv1.weight/exp_avg". The live tensors, for
  /// checkpoints.
  std::vector<NamedTensor> state() const;

 private:
  struct Entry {
    NamedTensor parameter;
    std::vector<torch::Tensor> moments;  // with the parameter's strides
    torch::Tensor step;                  // int64 scalar: updates made
  };
  std::vector<Entry> entries_;
  std::vector<std::string> moment_names_;
};

}  // namespace lockstep::parallel
