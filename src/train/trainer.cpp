// SPDX-License-Identifier: MIT
#include "train/trainer.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/digest.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "launch/signals.hpp"

namespace lockstep::train {
namespace {

constexpr std::int64_t kBalancePeriodSteps = 50;
constexpr double kLateShare = 0.1;  // of a step's time: below it a late rank is noise

// This rank's samples, cut into its slots; a slot's size depends on the window and the number of
// slots alone.
parallel::StepInput step_input(const data::LoadedBatch& loaded, const data::Share& share) {
  parallel::StepInput input{loaded.batch, {}, share.first};
  for (auto slot = share.first; slot < share.first + share.count; ++slot) {
    input.slot_sizes.push_back(part_of(loaded.window.positions.size(), share.parts, slot).size());
  }
  return input;
}

}  // namespace

// What all ranks do after a step; the union of what the ranks ask for.
struct Trainer::Decision {
  launch::SignalRequest signal = launch::SignalRequest::kNone;
  bool evaluate = false;
  bool save = false;
};

Trainer::Trainer(Parts parts, RunState state)
    : parts_(std::move(parts)),
      state_(state),
      steps_per_epoch_(parts_.sampler.steps_per_epoch()),
      last_step_(last_step(parts_.options, steps_per_epoch_)) {}

std::int64_t Trainer::last_step(const Options& options, std::int64_t steps_per_epoch) {
  const auto whole = options.epochs * steps_per_epoch;
  return options.max_steps > 0 ? std::min(options.max_steps, whole) : whole;
}

Outcome Trainer::run() {
  data::Loader loader(parts_.train_set,
                      parts_.sampler,
                      {.share = parts_.share,
                       .start = state_.position,
                       .windows = std::max<std::int64_t>(0, last_step_ - state_.step),
                       .reader_threads = static_cast<int>(parts_.data_options.reader_threads),
                       .prefetch = static_cast<int>(parts_.data_options.prefetch)});
  while (state_.step < last_step_) {
    one_step(loader);
    if (auto outcome = act(decide())) return *outcome;
  }
  return finish();
}

void Trainer::one_step(data::Loader& loader) {
  const Stopwatch watch;
  auto& recorder = parts_.recorder;
  recorder.set_step(state_.step + 1);
  recorder.enter(Phase::kData);
  const auto loaded = loader.next();
  auto hyper = parts_.hyper;
  hyper.lr = parts_.schedule.lr(state_.step);
  const auto result = parts_.engine.step(step_input(*loaded, parts_.share), hyper);

  ++state_.step;
  state_.position = loaded->window.next;
  const auto samples = loaded->window.positions.size();
  state_.samples += samples;
  parts_.audit.add(state_.step,
                   *loaded,
                   data::share_of(loaded->window.positions, parts_.share).begin);
  const double ms = watch.ms();
  throughput_.add(samples, ms, loaded->wait_ms);
  record("step",
         {{"step", state_.step},
          {"epoch", loaded->window.epoch},
          {"loss", result.loss},
          {"lr", hyper.lr},
          {"samples", samples},
          {"ms", ms},
          {"data_wait_ms", loaded->wait_ms},
          {"grad_norm", result.gradient_norm}});
  parts_.progress.update({.step = state_.step,
                          .total_steps = last_step_,
                          .epoch = loaded->window.epoch,
                          .loss = result.loss,
                          .lr = hyper.lr,
                          .samples_per_s = throughput_.samples_per_s(),
                          .step_ms = throughput_.step_ms(),
                          .data_wait_share = throughput_.data_wait_share()});
  report_balance(result, ms);
  if (!result.gradient_report.empty()) parts_.progress.say(result.gradient_report);
  epoch_ended_ = loaded->window.ends_epoch;
  if (epoch_ended_) end_epoch();
}

// Who kept the others waiting: the rank whose own backward ended last, on average over the period,
// and by how much.
void Trainer::report_balance(const parallel::StepResult& result, double step_ms) {
  if (parts_.communicator.ranks() == 1) return;
  ready_ms_.resize(result.ready_ms.size(), 0);
  for (std::size_t r = 0; r < ready_ms_.size(); ++r) ready_ms_[r] += result.ready_ms[r];
  period_ms_ += step_ms;
  if (++period_steps_ < kBalancePeriodSteps) return;
  const auto steps = static_cast<double>(period_steps_);
  const auto latest = std::max_element(ready_ms_.begin(), ready_ms_.end());
  const double mean = std::accumulate(ready_ms_.begin(), ready_ms_.end(), 0.0) /
                      static_cast<double>(ready_ms_.size());
  const auto late_rank = latest - ready_ms_.begin();
  const double late_ms = (*latest - mean) / steps;
  record("balance",
         {{"step", state_.step},
          {"late_rank", std::int64_t{late_rank}},
          {"late_ms", late_ms},
          {"ms", period_ms_ / steps}});
  const auto& timings = parts_.engine.reducer().timings();
  for (std::size_t b = 0; b < timings.size(); ++b) {
    record("bucket",
           {{"step", state_.step},
            {"bucket", static_cast<std::int64_t>(b)},
            {"ready_ms", timings[b].ready_ms},
            {"done_ms", timings[b].done_ms}});
  }
  if (late_ms > kLateShare * period_ms_ / steps) {
    parts_.progress.say(cat("rank ",
                            late_rank,
                            " is late: its backward ends ",
                            late_ms,
                            " ms after the mean, of ",
                            period_ms_ / steps,
                            " ms a step"));
  }
  ready_ms_.assign(ready_ms_.size(), 0);
  period_ms_ = 0;
  period_steps_ = 0;
}

void Trainer::end_epoch() {
  record("epoch",
         {{"epoch", state_.position.epoch - 1},
          {"samples", parts_.audit.samples()},
          {"ids_digest", hex(parts_.audit.digest(parts_.communicator))}});
  parts_.audit.start_epoch();
}

Trainer::Decision Trainer::decide() const {
  const bool last = state_.step >= last_step_;
  const bool evaluate =
      parts_.options.eval_every.due(state_.step, steps_per_epoch_, since_evaluation_.seconds());
  const bool save = parts_.saver.due(state_.step, steps_per_epoch_);
  // Signals reach ranks at different times and clocks differ: one rank's wish is everybody's.
  std::array<std::int32_t, 3> wish = {static_cast<std::int32_t>(launch::pending_signal()),
                                      evaluate,
                                      save};
  parts_.communicator.all_reduce(std::span(wish), comm::Op::kMax);
  return {static_cast<launch::SignalRequest>(wish[0]),
          wish[1] != 0 && !last,
          wish[2] != 0 && !last};
}

std::optional<Outcome> Trainer::act(const Decision& decision) {
  using launch::SignalRequest;
  if (decision.signal == SignalRequest::kStop) {
    const auto why =
        cat("stop signal at step ",
            state_.step,
            "; no save was started, ",
            parts_.saver.any() ? cat("the newest checkpoint is of step ", parts_.saver.saved_step())
                               : "there is no checkpoint");
    return Outcome{parts_.saver.any() ? ExitCode::kStopped : ExitCode::kRankLost, why, evaluation_};
  }
  if (decision.evaluate) evaluate_now();
  if (decision.signal == SignalRequest::kSaveAndStop) {
    save_now(Saver::Failure::kThrow);
    return Outcome{ExitCode::kStopped,
                   cat("signal at step ", state_.step, ", checkpoint written"),
                   evaluation_};
  }
  if (decision.save || decision.signal == SignalRequest::kSave) save_now(Saver::Failure::kWarn);
  if (decision.signal == SignalRequest::kSave) launch::clear_save_request();
  return std::nullopt;
}

void Trainer::evaluate_now() {
  since_evaluation_.restart();
  if (parts_.eval_set == nullptr || evaluated_step_ == state_.step) return;
  parts_.recorder.enter(Phase::kEval);
  evaluation_ = evaluate(*parts_.eval_set,
                         parts_.batch.batch_size,
                         static_cast<int>(parts_.data_options.reader_threads),
                         parts_.network,
                         parts_.task,
                         parts_.communicator);
  evaluated_step_ = state_.step;
  const auto& counts = evaluation_->counts;
  record("eval",
         {{"step", state_.step},
          {"epoch", state_.position.epoch},
          {"samples", counts.samples},
          {"loss", evaluation_->loss()},
          {"correct", counts.correct},
          {"accuracy", evaluation_->accuracy()},
          {"ms", evaluation_->ms}});
  parts_.progress.say(cat("eval | step ",
                          state_.step,
                          " | loss ",
                          brief(evaluation_->loss()),
                          " | accuracy ",
                          brief(evaluation_->accuracy()),
                          " (",
                          counts.correct,
                          " of ",
                          counts.predictions,
                          ")"));
}

bool Trainer::save_now(Saver::Failure on_failure) {
  if (parts_.saver.saved_step() == state_.step) return true;
  parts_.recorder.enter(Phase::kSave);
  const Stopwatch watch;
  const bool saved = parts_.saver.save(state_.step,
                                       checkpoint_state(),
                                       parts_.engine.reducer().plan().order,
                                       on_failure);
  if (!saved) return false;
  const auto& done = parts_.saver.last();
  record("checkpoint",
         {{"step", state_.step},
          {"file", done.file},
          {"bytes", done.bytes},
          {"ms", done.ms},
          {"stall_ms", watch.ms()}});
  return true;
}

Outcome Trainer::finish() {
  evaluate_now();
  save_now(Saver::Failure::kThrow);
  parts_.progress.finish();
  parts_.recorder.enter(Phase::kEnd);
  return {ExitCode::kDone, "", evaluation_};
}

// Metrics help people; a full disk must not end a training for them.
void Trainer::record(std::string_view event, const metrics::Row& row) {
  if (parts_.metrics == nullptr || metrics_failed_) return;
  try {
    parts_.metrics->write(event, row);
  } catch (const IoError& e) {
    metrics_failed_ = true;
    log::warn(cat("metrics are no longer written, training goes on: ", e.what()));
  }
}

checkpoint::State Trainer::checkpoint_state() const {
  checkpoint::State out;
  out.tensors = parts_.engine.state();
  out.scalars = parts_.identity;
  auto state = state_;
  state.ids_digest = parts_.audit.digest(parts_.communicator);
  write_scalars(state, out.scalars);
  return out;
}

void write_scalars(const RunState& state, std::map<std::string, checkpoint::Scalar>& scalars) {
  scalars["counters/step"] = state.step;
  scalars["counters/samples"] = state.samples;
  scalars["sampler/epoch"] = state.position.epoch;
  scalars["sampler/consumed"] = state.position.consumed;
  scalars["sampler/ids_digest"] = hex(state.ids_digest);
}

RunState read_run_state(const std::map<std::string, checkpoint::Scalar>& scalars) {
  const auto integer = [&](const char* name) {
    const auto it = scalars.find(name);
    if (it == scalars.end() || !std::holds_alternative<std::int64_t>(it->second)) {
      throw DataError(cat("the checkpoint holds no whole number /", name));
    }
    return std::get<std::int64_t>(it->second);
  };
  RunState state;
  state.step = integer("counters/step");
  state.samples = integer("counters/samples");
  state.position = {integer("sampler/epoch"), integer("sampler/consumed")};
  const auto it = scalars.find("sampler/ids_digest");
  if (it == scalars.end() || !std::holds_alternative<std::string>(it->second)) {
    throw DataError("the checkpoint holds no text /sampler/ids_digest");
  }
  state.ids_digest = parse_hex(std::get<std::string>(it->second), "/sampler/ids_digest");
  return state;
}

}  // namespace lockstep::train
