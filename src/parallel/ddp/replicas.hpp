// SPDX-License-Identifier: MIT
// Keeping replicas equal: compared and made equal at the start, their buffers averaged every step,
// spot-checked on demand.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "model/network.hpp"
#include "parallel/ddp/bucket_plan.hpp"
#include "tensor/bridge.hpp"

namespace lockstep::parallel {

/// Compares names, shapes, types and strides of parameters and buffers over the ranks, then takes
/// the values of rank 0. Throws AgreedError naming the first difference. Collective.
void equalise(model::Network& network, comm::Communicator& communicator);

/// A model's buffers (BatchNorm statistics), for averaging over ranks and slots.
class Buffers {
 public:
  explicit Buffers(const model::Network& network);
  bool empty() const { return tensors_.empty(); }

  /// All floating-point buffers in one row, and behind them how many contributions it holds: 1, or
  /// 0 with all zeros.
  std::vector<float> flat(bool contributes) const;
  /// Writes a sum of flat() rows back, divided by its last element; where that is 0 nothing
  /// changes.
  void set_mean(std::span<const float> sum);
  /// Counters (num_batches_tracked) take the largest value of any rank: a rank without samples did
  /// not count. Collective.
  void agree_counters(comm::Communicator& communicator);

  /// Copies of all values now, and back.
  std::vector<torch::Tensor> snapshot() const;
  void restore(const std::vector<torch::Tensor>& values);

 private:
  std::vector<torch::Tensor> tensors_;
};

/// Compares one bucket's parameters over the ranks by their digests. Throws AgreedError (70) that
/// names parameters, bucket and the ranks that differ from the majority. Collective.
void check_replicas(const std::vector<NamedTensor>& parameters,
                    const BucketPlan& plan,
                    int bucket,
                    comm::Communicator& communicator);

/// A table: parameter, its gradient's norm on every rank before the reduction, the norm after it,
/// whether all ranks have the same bits after it. The text is rank 0's, empty elsewhere.
/// Collective.
std::string gradient_report(const std::vector<NamedTensor>& parameters,
                            const std::vector<double>& norms_before,
                            comm::Communicator& communicator);

}  // namespace lockstep::parallel
