// SPDX-License-Identifier: MIT
// Evaluation over all ranks that counts each sample once, for any number of ranks and any batch
// size.
#pragma once

#include "comm/communicator.hpp"
#include "data/dataset.hpp"
#include "model/network.hpp"
#include "model/task.hpp"

namespace lockstep::train {

/// Sums over the whole set; the same on all ranks.
struct Evaluation {
  model::Counts counts;
  double ms = 0;
  double loss() const { return counts.weight > 0 ? counts.loss_sum / counts.weight : 0; }
  double accuracy() const {
    return counts.predictions > 0
               ? static_cast<double>(counts.correct) / static_cast<double>(counts.predictions)
               : 0;
  }
};

/// Every rank takes its part of each window of `batch_size` samples. Puts the network into
/// evaluation mode; no gradients. Collective.
Evaluation evaluate(const data::DataSet& set,
                    std::int64_t batch_size,
                    int reader_threads,
                    model::Network& network,
                    const model::Task& task,
                    comm::Communicator& communicator);

}  // namespace lockstep::train
