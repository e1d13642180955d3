// SPDX-License-Identifier: MIT
// The training loop. One step: load, run the micro-batches, reduce, update, book-keeping; then the
// ranks agree on whether to evaluate, save or stop.
#pragma once

#include <optional>
#include <string>

#include "data/loader.hpp"
#include "data/options.hpp"
#include "metrics/jsonl.hpp"
#include "metrics/meter.hpp"
#include "metrics/progress.hpp"
#include "optim/optimizer.hpp"
#include "parallel/ddp/engine.hpp"
#include "train/batch_equation.hpp"
#include "train/evaluation.hpp"
#include "train/options.hpp"
#include "train/sample_audit.hpp"
#include "train/saver.hpp"

namespace lockstep::train {

/// Where a run stands; what a checkpoint keeps besides tensors.
struct RunState {
  std::int64_t step = 0;     ///< updates made
  std::int64_t samples = 0;  ///< used so far
  data::Position position;
  std::uint64_t ids_digest = 0;  ///< of the samples of the present epoch
};

/// How a run ended.
struct Outcome {
  ExitCode code = ExitCode::kDone;
  std::string why;  ///< "signal 10 at step 40, checkpoint written"; empty: it ran to its end
  std::optional<Evaluation> evaluation;
};

/// What the loop works with; everything outlives it. Pointers may be null: no evaluation set; no
/// metrics file (other ranks).
struct Parts {
  const Options& options;
  const data::Options& data_options;
  BatchEquation batch;
  const data::DataSet& train_set;
  const data::DataSet* eval_set;
  data::Sampler sampler;
  model::Network& network;
  const model::Task& task;
  parallel::DdpEngine& engine;
  optim::Hyper hyper;
  const optim::Schedule& schedule;
  Saver& saver;
  std::map<std::string, checkpoint::Scalar> identity;  ///< scalars that say which run this is
  SampleAudit& audit;
  data::Share share;  ///< this rank's of every step
  metrics::MetricsFile* metrics;
  metrics::Progress& progress;
  comm::Communicator& communicator;
  Recorder& recorder;
};

class Trainer {
 public:
  Trainer(Parts parts, RunState state);

  /// The step at which a run with these options ends.
  static std::int64_t last_step(const Options& options, std::int64_t steps_per_epoch);

  /// Runs to the end, a stop signal or an error. Collective.
  Outcome run();

  /// Tensors and scalars of the present state. Collective (the digest of the epoch's samples is
  /// added up).
  checkpoint::State checkpoint_state() const;
  const RunState& state() const { return state_; }

 private:
  struct Decision;
  void one_step(data::Loader& loader);
  void report_balance(const parallel::StepResult& result, double step_ms);
  void end_epoch();
  Decision decide() const;
  std::optional<Outcome> act(const Decision& decision);
  void evaluate_now();
  bool save_now(Saver::Failure on_failure);
  void record(std::string_view event, const metrics::Row& row);
  Outcome finish();

  Parts parts_;
  RunState state_;
  std::int64_t steps_per_epoch_;
  std::int64_t last_step_;
  metrics::Throughput throughput_;
  std::vector<double> ready_ms_;  // by rank, summed over the present period
  double period_ms_ = 0;
  std::int64_t period_steps_ = 0;
  std::optional<Evaluation> evaluation_;
  std::int64_t evaluated_step_ = -1;
  Stopwatch since_evaluation_;
  bool epoch_ended_ = false;
  bool metrics_failed_ = false;
};

/// The scalars of a run state, and back. Throws DataError where one is missing.
void write_scalars(const RunState& state, std::map<std::string, checkpoint::Scalar>& scalars);
RunState read_run_state(const std::map<std::string, checkpoint::Scalar>& scalars);

}  // namespace lockstep::train
