// SPDX-License-Identifier: MIT
// Mode ddp: a process per device, each with a replica. Runs a step's micro-batches, reduces,
// checks, updates.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "core/clock.hpp"
#include "core/recorder.hpp"
#include "model/network.hpp"
#include "model/task.hpp"
#include "parallel/ddp/reducer.hpp"
#include "parallel/ddp/replicas.hpp"
#include "parallel/options.hpp"
#include "parallel/update/replicated.hpp"
#include "tensor/op_context.hpp"

namespace lockstep::parallel {

/// This rank's samples of one step, cut into its slots: the first slot_sizes[0] samples are slot
/// first_slot, and so on. In fast mode a rank is one slot. Sizes may be 0.
struct StepInput {
  Batch part;
  std::vector<std::int64_t> slot_sizes;
  std::int64_t first_slot = 0;
};

/// What a step reports; equal on all ranks but for the report text, which rank 0 has.
struct StepResult {
  double loss = 0;               ///< exact mean over all samples (or tokens) of the step
  double weight = 0;             ///< samples (or tokens) that the mean covers
  double gradient_norm = 0;      ///< of the mean's gradient, before clipping
  std::vector<double> ready_ms;  ///< by rank: from the step's start to the end of its own backward
  std::string gradient_report;   ///< --check-gradients, when it is time
};

struct EngineConfig {
  Options options;
  double nominal_weight =
      1;  ///< B: backward runs on loss sum / B, the update multiplies by B / true weight
  std::int64_t accumulate = 1;  ///< micro-steps of a step
  std::uint64_t seed = 1;       ///< of dropout masks
  double clip_norm = 0;         ///< 0: off
  bool communication_thread = false;
};

class DdpEngine {
 public:
  /// Compares the model over the ranks (names, shapes, types, strides) and takes parameters and
  /// buffers from rank 0. Throws AgreedError naming what differs. Network, task, communicator and
  /// recorder must outlive the engine. Collective.
  DdpEngine(model::Network& network,
            const model::Task& task,
            const optim::Hyper& hyper,
            EngineConfig config,
            comm::Communicator& communicator,
            Recorder& recorder);

  /// One optimizer step. Throws AgreedError on all ranks: 76 where loss or gradients are not finite
  /// (nothing was updated), 78 where a parameter got no gradient, 70 where replicas differ. Any
  /// other exception is this rank's alone. Collective.
  StepResult step(const StepInput& input, const optim::Hyper& hyper);

  /// Parameters, buffers and optimizer state by name, as checkpoints keep them. The live tensors.
  std::vector<NamedTensor> state() const;
  const Reducer& reducer() const { return *reducer_; }
  /// Takes the bucket order of the run that is resumed; one of another model is left aside. Equal
  /// on all ranks.
  void adopt_bucket_order(const std::vector<std::int64_t>& order);
  /// A communication thread carries the reductions.
  bool threaded() const { return config_.communication_thread && communicator_.ranks() > 1; }
  /// Elements of all trained parameters.
  std::int64_t parameter_elements() const;

 private:
  /// Loss sum and weight of each of this rank's slots.
  using SlotLosses = std::vector<double>;

  bool exact() const { return config_.options.reduce == "exact"; }
  void settle_plan();
  void run_micro_batch(const Batch& micro, OpContext& context, double& loss_sum, double& weight);
  OpContext op_context(std::int64_t slot) const;
  bool sync_batch_norm() const { return config_.options.batch_norm == "sync"; }
  SlotLosses run_fast(const StepInput& input);
  SlotLosses run_exact(const StepInput& input);
  std::vector<char> exchange_reports(const SlotLosses& losses,
                                     const std::vector<int>& missing,
                                     bool had_samples,
                                     StepResult& result);
  std::vector<char> settle_missing(const std::vector<int>& missing, bool had_samples);
  void check_finite(const StepResult& result) const;

  model::Network& network_;
  const model::Task& task_;
  EngineConfig config_;
  comm::Communicator& communicator_;
  Recorder& recorder_;
  std::unique_ptr<Reducer> reducer_;
  std::unique_ptr<Replicated> update_;
  std::optional<Buffers> buffers_;
  std::unique_ptr<comm::Communicator> batch_norm_ranks_;  // SyncBN has its own message space
  std::int64_t steps_ = 0;                                // by this engine
  bool plan_settled_ = false;
  Stopwatch since_step_;
  double ready_ms_ = 0;
};

}  // namespace lockstep::parallel
