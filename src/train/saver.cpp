// SPDX-License-Identifier: MIT
#include "train/saver.hpp"

#include "comm/agree.hpp"
#include "core/log.hpp"
#include "core/text.hpp"

namespace lockstep::train {

Saver::Saver(std::string folder,
             checkpoint::Options options,
             checkpoint::Provenance provenance,
             std::int64_t saved_step,
             comm::Communicator& communicator)
    : folder_(std::move(folder)),
      options_(std::move(options)),
      provenance_(std::move(provenance)),
      communicator_(communicator),
      saved_step_(saved_step) {}

bool Saver::due(std::int64_t step, std::int64_t steps_per_epoch) const {
  return options_.checkpoint_every.due(step, steps_per_epoch, since_.seconds());
}

bool Saver::save(std::int64_t step,
                 const checkpoint::State& state,
                 const std::vector<int>& bucket_order,
                 Failure on_failure) {
  if (step == saved_step_) return true;
  provenance_.bucket_order.assign(bucket_order.begin(), bucket_order.end());
  try {
    last_ = checkpoint::save(folder_, step, state, provenance_, options_.keep, communicator_);
    saved_step_ = step;
    since_.restart();
    return true;
  } catch (const comm::AgreedError& e) {  // the same on all ranks, so all go on or all end
    ++failures_;
    since_.restart();
    if (on_failure == Failure::kThrow) throw;
    if (communicator_.rank() == 0)
      log::warn(
          cat("the checkpoint of step ", step, " was not saved, training goes on: ", e.what()));
    return false;
  }
}

}  // namespace lockstep::train
