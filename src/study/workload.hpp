// SPDX-License-Identifier: MIT
// The models and batches that benchmarks run: synthetic data of fixed shapes, the same sizes as the
// PyTorch programs beside which they are measured.
#pragma once

#include <memory>
#include <string>

#include "model/network.hpp"
#include "optim/optimizer.hpp"
#include "tensor/batch.hpp"

namespace lockstep::study {

struct Workload {
  std::string name;
  std::shared_ptr<model::Network> network;
  Batch batch;  ///< one fixed batch of this rank
  optim::Hyper hyper;
};

/// "cnn": 421,642 parameters on 28x28 pictures, 128 samples a rank, SGD with momentum. Throws
/// UsageError for another name.
Workload make_workload(const std::string& name, int rank);

}  // namespace lockstep::study
