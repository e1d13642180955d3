// SPDX-License-Identifier: MIT
#include "session/session.hpp"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <iostream>

#include "comm/agree.hpp"
#include "core/digest.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "core/version.hpp"
#include "model/parameters.hpp"
#include "session/identity.hpp"
#include "session/run_json.hpp"
#include "session/start_report.hpp"

namespace lockstep::session {
namespace {

// A core is free where the ranks that share this one's cores do not fill them with compute threads.
bool core_is_free(const launch::RankInfo& self, int threads) {
  return self.allowed_cores > self.sharing_ranks * threads;
}

bool names_a_file(const std::string& resume) { return resume != "auto" && resume != "never"; }

std::string reduction_text(const launch::Runtime& runtime,
                           const parallel::Reducer& reducer,
                           bool threaded,
                           int threads) {
  const auto& self = runtime.self();
  const auto size = cat(human_bytes(static_cast<std::uint64_t>(reducer.bytes_per_step())),
                        " a step in ",
                        counted(reducer.plan().buckets(), "bucket"));
  if (runtime.ranks() == 1) return cat(size, ", one rank: nothing to reduce");
  if (threaded) return cat(size, ", reduced over mpi by a communication thread (a core is free)");
  const auto reason = runtime.thread_level() < MPI_THREAD_MULTIPLE
                          ? std::string("MPI gives no MPI_THREAD_MULTIPLE")
                          : cat("no core is free: ",
                                counted(self.allowed_cores, "core"),
                                " for ",
                                counted(self.sharing_ranks, "rank"),
                                " x ",
                                counted(threads, "thread"));
  return cat(size, ", reduced over mpi inline (", reason, ")");
}

}  // namespace

model::TargetInfo target_info(const data::DataSet& set) {
  const auto& target = set.shards.front().target;
  return {target.dtype.find("float") == std::string::npos, target.sample_shape};
}

int set_threads(std::int64_t wanted, const launch::RankInfo& self) {
  const int threads = wanted > 0 ? static_cast<int>(wanted) : self.threads;
  at::set_num_threads(threads);
  if (threads > self.allowed_cores) {
    log::warn(cat(threads,
                  " threads on ",
                  self.allowed_cores,
                  " allowed cores: they will fight; see --threads and mpirun's --bind-to"));
  }
  return threads;
}

void compare_options(const config::OptionTable& table, comm::Communicator& communicator) {
  const auto digest = table.digest();
  if (communicator.all_reduce(digest, comm::Op::kMin) ==
      communicator.all_reduce(digest, comm::Op::kMax)) {
    return;
  }
  for (const auto& option : table.options()) {
    const auto mine = option.in_digest ? join(option.get(), ", ") : std::string();
    const auto theirs = communicator.broadcast(mine, 0);
    comm::agree_on(communicator, [&] {
      if (mine != theirs) {
        throw ConfigError(cat("--",
                              option.name,
                              " is '",
                              mine,
                              "' here and '",
                              theirs,
                              "' on rank 0; start all ranks with the same options"));
      }
    });
  }
}

TrainSession::TrainSession(RunConfig config, const config::OptionTable& table, Context context)
    : config_(std::move(config)), table_(table), context_(context) {
  // Sums depend on the number of threads: exact mode takes one unless told otherwise.
  const bool exact = config_.parallel.reduce == "exact";
  threads_ = set_threads(exact && config_.train.threads == 0 ? 1 : config_.train.threads,
                         context_.runtime.self());
  resolve_batch(table);
  open_data();
  build_model();
  identity_ = identity_of(table_, train_set_, config_.model.model, batch_.batch_size);
  if (!config_.train.dry_run) {
    open_folder();
    resume(identity_);
  }
  const auto last = train::Trainer::last_step(config_.train, sampler_->steps_per_epoch());
  const bool threaded = engine_->threaded();
  start_report_ = session::start_report(
      {.runtime = context_.runtime,
       .table = table_,
       .train_set = train_set_,
       .eval_set = eval_set_ ? &*eval_set_ : nullptr,
       .model = cat(config_.model.model,
                    ", ",
                    grouped(engine_->parameter_elements()),
                    " trained parameters in ",
                    engine_->reducer().parameters().size(),
                    " tensors"),
       .batch = batch_.text(),
       .steps = cat(grouped(last), " in all, ", grouped(sampler_->steps_per_epoch()), " an epoch"),
       .reduction = reduction_text(context_.runtime, engine_->reducer(), threaded, threads_),
       .folder = folder_ ? folder_->path() : "none (dry run)",
       .resume = resume_text_});
  if (config_.train.dry_run) {
    data::Loader(train_set_, *sampler_, {.share = share(), .windows = 1}).next();
    nothing_to_do_ =
        "dry run: data, model and options fit together; nothing was trained or written";
  } else if (state_.step >= last) {
    nothing_to_do_ = cat("the run in ",
                         folder_->path(),
                         " is finished: step ",
                         state_.step,
                         " of ",
                         last,
                         ". More --epochs or --max-steps would continue it");
  } else {
    open_outputs();
  }
}

TrainSession::~TrainSession() = default;

// In fast mode a rank is one slot; in exact mode it takes its run of the fixed number of slots.
data::Share TrainSession::share() const {
  const std::int64_t ranks = context_.communicator.ranks(), rank = context_.communicator.rank();
  const auto slots = config_.parallel.reduce == "exact" ? config_.parallel.slots : ranks;
  return {slots, rank * (slots / ranks), slots / ranks};
}

void TrainSession::resolve_batch(const config::OptionTable& table) {
  comm::agree_on(context_.communicator, [&] {
    batch_ = train::solve_batch(config_.train.batch_size,
                                table.given("batch-size"),
                                config_.train.batch_per_device,
                                context_.communicator.ranks(),
                                config_.train.accumulate);
    parallel::check_exact(config_.parallel,
                          context_.communicator.ranks(),
                          config_.train.accumulate);
    hyper_ = optim::hyper_of(config_.optim);
  });
}

void TrainSession::open_data() {
  auto& options = config_.data;
  comm::agree_on(context_.communicator, [&] {
    if (!options.data.empty()) return;
    options.data = data::shipped_data_set();
    if (options.eval_data.empty()) options.eval_data = io::folder_of(options.data) + "/test";
  });
  train_set_ = data::open_data_set(options.data, context_.communicator);
  if (!options.eval_data.empty()) {
    eval_set_ =
        data::open_data_set(options.eval_data, context_.communicator, train_set_.num_classes);
    eval_set_->channel_mean = train_set_.channel_mean;
    eval_set_->channel_std = train_set_.channel_std;
  }
  comm::agree_on(context_.communicator, [&] {
    if (eval_set_ && eval_set_->sample_shape != train_set_.sample_shape) {
      throw DataError(cat(eval_set_->path, ": samples of another shape than in ", train_set_.path));
    }
    sampler_.emplace(data::Sampler::Config{.samples = train_set_.samples,
                                           .batch_size = batch_.batch_size,
                                           .seed = static_cast<std::uint64_t>(options.seed),
                                           .shuffle = data::parse_shuffle(options.shuffle),
                                           .tail = data::parse_tail(options.tail)});
    schedule_.emplace(config_.optim,
                      config_.train.epochs * sampler_->steps_per_epoch(),
                      sampler_->steps_per_epoch());
  });
}

void TrainSession::build_model() {
  if (config_.model.model.empty())
    config_.model.model = model::default_model(train_set_.sample_shape);
  comm::agree_on(context_.communicator, [&] {
    model::Registry registry;
    if (context_.extensions.models) context_.extensions.models(registry);
    model::Spec spec;
    spec.sample_shape = train_set_.sample_shape;
    spec.num_classes = train_set_.num_classes;
    spec.options = model::parse_options(config_.model.model_options);
    network_ =
        registry.make(config_.model.model, spec, static_cast<std::uint64_t>(config_.data.seed));
    model::apply_freeze(*network_, config_.model.freeze);
    task_ = model::make_task(config_.model.task,
                             target_info(train_set_),
                             config_.model.label_smoothing);
  });
  const bool threaded = context_.runtime.thread_level() == MPI_THREAD_MULTIPLE &&
                        core_is_free(context_.runtime.self(), threads_);
  engine_ = std::make_unique<parallel::DdpEngine>(
      *network_,
      *task_,
      hyper_,
      parallel::EngineConfig{.options = config_.parallel,
                             .nominal_weight = static_cast<double>(batch_.batch_size),
                             .accumulate = batch_.accumulate,
                             .seed = static_cast<std::uint64_t>(config_.data.seed),
                             .clip_norm = config_.optim.clip_norm,
                             .communication_thread = threaded},
      context_.communicator,
      context_.recorder);
}

void TrainSession::open_folder() {
  if (names_a_file(config_.checkpoint.resume)) {  // before a folder is made for nothing
    comm::agree_on(context_.communicator, [&] { io::open_to_read(config_.checkpoint.resume); });
  }
  folder_.emplace(config_.run_dir,
                  config_.model.model,
                  config_.checkpoint.resume == "never",
                  context_.communicator);
  if (context_.communicator.rank() == 0) checkpoint::remove_leftovers(folder_->checkpoints());
}

void TrainSession::resume(const std::map<std::string, checkpoint::Scalar>& identity) {
  auto& communicator = context_.communicator;
  std::string path;
  if (names_a_file(config_.checkpoint.resume)) {
    path = config_.checkpoint.resume;
    if (checkpoint::verify(path, communicator).unverified && communicator.rank() == 0) {
      log::warn(cat(path, " has no manifest beside it: its bytes are not verified"));
    }
  } else if (config_.checkpoint.resume == "auto" && folder_->used()) {
    const auto found = checkpoint::find_newest(folder_->checkpoints(), communicator);
    for (const auto& reason : found.refused) {
      if (communicator.rank() == 0) log::warn(cat("checkpoint refused: ", reason));
    }
    path = found.path;
    if (path.empty() && communicator.rank() == 0) {
      log::warn(cat("the run in ", folder_->path(), " left no checkpoint: it starts at step 0"));
    }
  }
  if (path.empty()) return;
  checkpoint::State state{engine_->state(), {}};
  std::string changed;
  comm::agree_on(communicator, [&] {
    changed =
        judge_changes(changes(checkpoint::read_scalars(path), identity), config_.allow_change);
  });
  checkpoint::load(path, state, communicator);
  std::vector<std::int64_t> order;
  comm::agree_on(communicator, [&] { order = checkpoint::read_provenance(path).bucket_order; });
  engine_->adopt_bucket_order(order);
  comm::agree_on(communicator, [&] { state_ = train::read_run_state(state.scalars); });
  resumed_step_ = state_.step;
  resume_text_ = cat(path,
                     ", step ",
                     state_.step,
                     ", epoch ",
                     state_.position.epoch,
                     changed.empty() ? "" : "\n" + changed);
}

void TrainSession::open_outputs() {
  auto& communicator = context_.communicator;
  const bool same_folder = config_.checkpoint.resume == "auto";
  saver_.emplace(folder_->checkpoints(),
                 config_.checkpoint,
                 checkpoint::Provenance{.ranks = communicator.ranks(),
                                        .lockstep_version = kVersion,
                                        .torch_version = TORCH_VERSION},
                 same_folder ? resumed_step_ : -1,
                 communicator);
  comm::agree_on(communicator, [&] {
    const auto rank = communicator.rank();
    std::string list;
    if (config_.train.dump_samples) {
      io::make_folders(folder_->file("samples"));
      const auto number = std::to_string(rank);
      list = folder_->file(cat("samples/rank-",
                               std::string(4 - std::min<std::size_t>(4, number.size()), '0'),
                               number,
                               ".txt"));
    }
    audit_.emplace(list, resumed_step_ >= 0);
    audit_->resume(state_.ids_digest, state_.position.consumed);
    progress_.emplace(std::cerr, metrics::progress_config(config_.metrics, rank));
    if (rank != 0) return;
    io::publish_text(folder_->file("config.ini"), table_.print());
    if (folder_->used())
      metrics::cut_after(folder_->file("metrics.jsonl"), std::max<std::int64_t>(0, resumed_step_));
    metrics_.emplace(folder_->file("metrics.jsonl"));
    metrics_->write("start", start_row());
    publish_run_json(*folder_, context_.runtime);
  });
}

metrics::Row TrainSession::start_row() const {
  return {{"schema", std::int64_t{1}},
          {"time", utc_now()},
          {"version", std::string(kVersion)},
          {"model", config_.model.model},
          {"parameters", engine_->parameter_elements()},
          {"batch_size", batch_.batch_size},
          {"ranks", std::int64_t{context_.communicator.ranks()}},
          {"threads", std::int64_t{threads_}},
          {"steps_per_epoch", sampler_->steps_per_epoch()},
          {"step", state_.step}};
}

train::Outcome TrainSession::run() {
  train::Trainer trainer({.options = config_.train,
                          .data_options = config_.data,
                          .batch = batch_,
                          .train_set = train_set_,
                          .eval_set = eval_set_ ? &*eval_set_ : nullptr,
                          .sampler = *sampler_,
                          .network = *network_,
                          .task = *task_,
                          .engine = *engine_,
                          .hyper = hyper_,
                          .schedule = *schedule_,
                          .saver = *saver_,
                          .identity = identity_,
                          .audit = *audit_,
                          .share = share(),
                          .metrics = metrics_ ? &*metrics_ : nullptr,
                          .progress = *progress_,
                          .communicator = context_.communicator,
                          .recorder = context_.recorder},
                         state_);
  const auto end = [&](ExitCode code) {
    progress_->finish();
    state_ = trainer.state();
    if (metrics_) {
      metrics_->write("end",
                      {{"code", static_cast<std::int64_t>(code)},
                       {"step", state_.step},
                       {"samples", state_.samples},
                       {"seconds", since_start_.seconds()}});
    }
  };
  try {
    const auto outcome = trainer.run();
    end(outcome.code);
    return outcome;
  } catch (const comm::AgreedError& e) {
    end(e.code());
    throw;
  }
}

std::string TrainSession::end_report(const train::Outcome& outcome) const {
  const auto seconds = since_start_.seconds();
  std::string text = outcome.code == ExitCode::kDone ? "done" : outcome.why;
  text += cat(" | step ",
              state_.step,
              " | ",
              metrics::duration_text(seconds),
              " | run folder ",
              folder_->path());
  if (outcome.code == ExitCode::kStopped)
    text += cat("\nresume with: the same command and --run-dir ", folder_->path());
  if (outcome.evaluation) {
    const auto& counts = outcome.evaluation->counts;
    text += cat("\ntest accuracy ",
                brief(outcome.evaluation->accuracy()),
                " (",
                counts.correct,
                " of ",
                counts.predictions,
                ")");
  }
  return text;
}

}  // namespace lockstep::session
