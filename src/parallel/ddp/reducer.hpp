// SPDX-License-Identifier: MIT
// The gradient reducer: gradients are views of flat buckets from before the first backward, a hook
// per parameter counts its bucket down, and full buckets go out in plan order while backward still
// runs.
//
// Life of a step: begin_step(); any number of backwards under a NoSync guard; one last backward
// without it; finish().
#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "parallel/ddp/bucket_channel.hpp"
#include "parallel/ddp/bucket_plan.hpp"
#include "tensor/bridge.hpp"

namespace lockstep::parallel {

/// Not thread-safe: hooks must fire on the thread that calls backward (true on CPU).
class Reducer {
 public:
  /// Parameters are fp32 CPU leaves, each tensor once, equal on all ranks. The plan is shared by
  /// all ranks; the channel has its own communicator. Sets .grad of every parameter to a view of
  /// its bucket. Throws ConfigError naming a parameter that cannot be reduced (other type,
  /// overlapping memory).
  Reducer(std::vector<NamedTensor> parameters,
          BucketPlan plan,
          std::unique_ptr<BucketChannel> channel);
  /// Takes hooks and views off again, so that a later engine on the same model meets nothing of
  /// this one.
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  /// Forgets the last step and zeroes all gradients. `measure`: local_norms() is wanted after this
  /// step.
  void begin_step(bool measure = false);
  /// Zeroes all gradients, nothing else.
  void zero_gradients();

  /// The order in which gradients became complete in the last synchronised backward; parameters
  /// that did not fire come last.
  std::vector<int> seen_order() const;
  /// Lays the buckets out anew, in this order (the same on all ranks). Only between steps: an
  /// accumulation window keeps its plan.
  void replan(std::vector<int> order);

  /// While one lives, backward only adds to the local gradients.
  class NoSync {
   public:
    explicit NoSync(Reducer& reducer) : reducer_(reducer) { ++reducer_.no_sync_; }
    ~NoSync() { --reducer_.no_sync_; }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    Reducer& reducer_;
  };

  /// Sends what has not gone out, zeros for what is missing, and waits for all of it. Afterwards
  /// every gradient is the sum over the ranks. Collective.
  void finish();
  /// Indices of the parameters that got no gradient on this rank since begin_step().
  std::vector<int> missing() const;
  /// By parameter: the norm of its local gradient when it was complete; of the last synchronised
  /// backward.
  const std::vector<double>& local_norms() const { return local_norms_; }
  /// When each bucket of this step went out and when its reduction had ended, in plan order.
  const std::vector<BucketTiming>& timings() const { return channel_->timings(); }

  /// All buckets in one row, and back: for sums that are formed elsewhere.
  std::vector<float> flat() const;
  void set_flat(std::span<const float> row);

  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  const BucketPlan& plan() const { return plan_; }
  /// The flat memory of one bucket, [plan().elements[i]] fp32.
  std::span<float> bucket(int index) {
    return span_of<float>(buckets_[static_cast<std::size_t>(index)]);
  }
  /// Gradients that were not born in their view and had to be copied, since the start.
  std::int64_t copies() const { return copies_; }
  /// Bytes that one step hands to the reduction.
  std::int64_t bytes_per_step() const;

 private:
  struct Hook;
  void lay_out();
  torch::Tensor view(std::size_t index) const;
  void on_gradient(std::size_t index, const torch::Tensor& parameter);
  void adopt_gradient(std::size_t index, const torch::Tensor& parameter);
  void send(Range buckets);

  std::vector<NamedTensor> parameters_;
  BucketPlan plan_;
  std::unique_ptr<BucketChannel> channel_;
  BucketCounter counter_;
  std::vector<torch::Tensor> buckets_;
  std::vector<char> seen_;   // got a gradient since begin_step()
  std::vector<char> ready_;  // fired in the synchronised backward
  std::vector<int> fired_;   // in this order
  bool measure_ = false;
  std::vector<double> local_norms_;
  int no_sync_ = 0;
  std::int64_t copies_ = 0;
};

}  // namespace lockstep::parallel
