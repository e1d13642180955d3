// SPDX-License-Identifier: MIT
#include "session/eval_session.hpp"

#include <filesystem>

#include "comm/agree.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "model/parameters.hpp"
#include "session/identity.hpp"

namespace lockstep::session {
namespace {

std::string find_checkpoint(const std::string& path, comm::Communicator& communicator) {
  comm::agree_on(communicator, [&] {
    if (path.empty())
      throw UsageError("eval needs --checkpoint, a checkpoint file or a run folder");
    if (!std::filesystem::exists(path))
      throw MissingInputError(cat(path, ": no such checkpoint or run folder"));
  });
  if (std::filesystem::is_directory(path)) {
    const auto folder =
        std::filesystem::is_directory(path + "/checkpoints") ? path + "/checkpoints" : path;
    const auto found = checkpoint::find_newest(folder, communicator);
    for (const auto& reason : found.refused) {
      if (communicator.rank() == 0) log::warn(cat("checkpoint refused: ", reason));
    }
    comm::agree_on(communicator, [&] {
      if (found.path.empty()) throw MissingInputError(cat(path, ": no checkpoint in this folder"));
    });
    return found.path;
  }
  if (checkpoint::verify(path, communicator).unverified && communicator.rank() == 0) {
    log::warn(cat(path, " has no manifest beside it: its bytes are not verified"));
  }
  return path;
}

std::shared_ptr<model::Network> make_network(const ModelIdentity& identity,
                                             const Extensions& extensions) {
  model::Registry registry;
  if (extensions.models) extensions.models(registry);
  model::Spec spec;
  spec.sample_shape = identity.sample_shape;
  spec.num_classes = identity.num_classes;
  spec.options = model::parse_options(identity.model_options);
  return registry.make(identity.model, spec, 0);
}

}  // namespace

EvalResult evaluate_checkpoint(const EvalConfig& config, Context context) {
  auto& communicator = context.communicator;
  set_threads(config.threads, context.runtime.self());
  EvalResult result;
  result.checkpoint = find_checkpoint(config.checkpoint, communicator);
  std::shared_ptr<model::Network> network;
  std::unique_ptr<model::Task> task;
  ModelIdentity identity;
  comm::agree_on(communicator, [&] {
    if (config.data.empty()) throw UsageError("eval needs --data, the data set to evaluate on");
    const auto scalars = checkpoint::read_scalars(result.checkpoint);
    identity = model_of(scalars);
    network = make_network(identity, context.extensions);
    const auto state = train::read_run_state(scalars);
    result.step = state.step;
    result.epoch = state.position.epoch;
  });
  auto set = data::open_data_set(config.data, communicator, identity.num_classes);
  set.channel_mean = identity.channel_mean;
  set.channel_std = identity.channel_std;
  comm::agree_on(communicator, [&] {
    if (set.sample_shape != identity.sample_shape) {
      throw DataError(
          cat(set.path, ": samples of another shape than the checkpoint's model takes"));
    }
    task = model::make_task(identity.task, target_info(set), 0);
  });
  checkpoint::State state;
  state.tensors = model::named_state(*network);
  checkpoint::load(result.checkpoint, state, communicator, "model/");
  result.evaluation = train::evaluate(set,
                                      config.batch_size,
                                      static_cast<int>(config.reader_threads),
                                      *network,
                                      *task,
                                      communicator);
  return result;
}

}  // namespace lockstep::session
