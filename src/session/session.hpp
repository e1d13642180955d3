// SPDX-License-Identifier: MIT
// Builds everything that a run needs from a RunConfig, in the order of the flow, owns it, and tears
// it down in reverse.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/recorder.hpp"
#include "launch/runtime.hpp"
#include "launch/signals.hpp"
#include "session/run_config.hpp"
#include "session/run_folder.hpp"
#include "train/trainer.hpp"

namespace lockstep::session {

/// What a program that embeds Lockstep brings along.
struct Extensions {
  std::function<void(model::Registry&)> models;  ///< adds own models
  MPI_Comm communicator = MPI_COMM_NULL;         ///< MPI is up already: train on these ranks
};

/// What all commands share. References outlive the session.
struct Context {
  const launch::Runtime& runtime;
  comm::Communicator& communicator;
  Recorder& recorder;
  const Extensions& extensions;
};

class TrainSession {
 public:
  /// Opens data, chooses the run folder, finds and loads the checkpoint, builds model and engine.
  /// Throws on all ranks alike. Collective. `table` is the parsed table of `config`.
  TrainSession(RunConfig config, const config::OptionTable& table, Context context);
  ~TrainSession();

  /// For people, at start: configuration, batch, data, ranks.
  const std::string& start_report() const { return start_report_; }
  /// A finished run, or --dry-run: nothing is left to do, and why.
  const std::optional<std::string>& nothing_to_do() const { return nothing_to_do_; }
  /// Trains. Collective.
  train::Outcome run();
  /// For people, at the end.
  std::string end_report(const train::Outcome& outcome) const;
  std::string run_folder() const { return folder_ ? folder_->path() : ""; }

 private:
  void open_data();
  void resolve_batch(const config::OptionTable& table);
  data::Share share() const;
  void build_model();
  void open_folder();
  void resume(const std::map<std::string, checkpoint::Scalar>& identity);
  void open_outputs();
  metrics::Row start_row() const;

  RunConfig config_;
  const config::OptionTable& table_;
  Context context_;
  launch::SignalScope signals_;
  int threads_ = 1;
  train::BatchEquation batch_;
  data::DataSet train_set_;
  std::optional<data::DataSet> eval_set_;
  std::optional<data::Sampler> sampler_;
  optim::Hyper hyper_;
  std::optional<optim::Schedule> schedule_;
  std::shared_ptr<model::Network> network_;
  std::unique_ptr<model::Task> task_;
  std::unique_ptr<parallel::DdpEngine> engine_;
  std::optional<RunFolder> folder_;
  std::map<std::string, checkpoint::Scalar> identity_;
  train::RunState state_;
  std::int64_t resumed_step_ = -1;
  std::string resume_text_;
  std::optional<train::Saver> saver_;
  std::optional<train::SampleAudit> audit_;
  std::optional<metrics::MetricsFile> metrics_;
  std::optional<metrics::Progress> progress_;
  Stopwatch since_start_;
  std::string start_report_;
  std::optional<std::string> nothing_to_do_;
};

/// What the targets of a set look like; a set that was opened has at least one shard.
model::TargetInfo target_info(const data::DataSet& set);

/// Sets LibTorch's threads of this rank: `wanted`, or what the cores allow (0). Returns the number.
int set_threads(std::int64_t wanted, const launch::RankInfo& self);

/// Throws AgreedError naming the option, both values and the rank where options differ between
/// ranks. Collective.
void compare_options(const config::OptionTable& table, comm::Communicator& communicator);

}  // namespace lockstep::session
