// SPDX-License-Identifier: MIT
// What BatchNorm and dropout need to know about the run: who else shares the batch, and the key of
// the random masks. The engine sets it around forward and backward of a micro-step; plain torch::nn
// modules then obey it, because the operators below them are overridden, not the modules. Without a
// context every operator behaves, to the bit, as LibTorch made it.
#pragma once

#include <cstdint>

#include "comm/communicator.hpp"

namespace lockstep {

/// What a training forward does with the running mean and variance of BatchNorm and InstanceNorm.
enum class RunningStatistics {
  kUpdate,  ///< as LibTorch does
  kKeep     ///< leaves them alone
};

/// One thread's state for the operators; the fields say what they change. A step with several
/// micro-steps keeps one context, so that dropout calls go on counting.
struct OpContext {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  /// Virtual rank (exact mode), rank or replica: masks of two slots differ.
  std::int32_t slot = 0;
  /// BatchNorm in training covers the joined batch of these ranks, which must all run the same
  /// layers in the same order, those without samples (N = 0) too. The communicator must be used for
  /// nothing else, and outlive the backward. nullptr or a single rank: LibTorch's own BatchNorm.
  comm::Communicator* batch_norm_ranks = nullptr;
  RunningStatistics statistics = RunningStatistics::kUpdate;
  /// A forward is being repeated for its activations: running statistics are left alone.
  bool recomputing = false;
  /// Dropout calls of the step so far: the index that keys the next mask.
  std::uint32_t dropout_calls = 0;

  /// A place in the step to which a repeated forward returns.
  struct Mark {
    std::uint32_t dropout_calls = 0;
  };
  Mark mark() const { return {dropout_calls}; }
  void rewind(Mark mark) { dropout_calls = mark.dropout_calls; }
};

/// Makes a context this thread's for the life of the scope; scopes nest, the innermost counts. The
/// context must outlive the scope. New threads start without one.
class OpContextScope {
 public:
  explicit OpContextScope(OpContext& context);
  ~OpContextScope();
  OpContextScope(const OpContextScope&) = delete;
  OpContextScope& operator=(const OpContextScope&) = delete;

 private:
  OpContext* outer_;
};

/// This thread's context, or nullptr.
OpContext* current_op_context();

/// A forward that is run again (activation checkpointing) from `mark`: the same masks, running
/// statistics left alone. At the end the context goes on where it was.
class Recomputation {
 public:
  Recomputation(OpContext& context, OpContext::Mark mark);
  ~Recomputation();
  Recomputation(const Recomputation&) = delete;
  Recomputation& operator=(const Recomputation&) = delete;

 private:
  OpContext& context_;
  OpContext::Mark resume_;
  bool outer_recomputing_;
};

/// Puts the overrides into LibTorch's dispatcher, for the whole process; further calls do nothing.
/// The first scope does it too, but no other thread may run operators meanwhile: programs of
/// several threads call this before they start them.
void install_op_overrides();

}  // namespace lockstep
