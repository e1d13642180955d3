// SPDX-License-Identifier: MIT
#include "train/sample_audit.hpp"

#include <array>

#include "core/digest.hpp"
#include "core/text.hpp"

namespace lockstep::train {

SampleAudit::SampleAudit(const std::string& list_path, bool append) {
  if (list_path.empty()) return;
  list_.open(list_path, append ? std::ios::app : std::ios::trunc);
  if (!list_) throw CannotCreateError(cat(list_path, ": cannot write the list of samples"));
}

void SampleAudit::add(std::int64_t step,
                      const data::LoadedBatch& loaded,
                      std::int64_t share_begin) {
  const auto& ids = loaded.batch.sample_ids;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::array<std::int64_t, 2> used = {share_begin + static_cast<std::int64_t>(i), ids[i]};
    mine_ += lockstep::digest(std::as_bytes(std::span(used)));
  }
  samples_ += loaded.window.positions.size();
  if (!list_.is_open()) return;
  list_ << step;
  for (const auto id : ids) list_ << ' ' << id;
  list_ << std::endl;
}

std::uint64_t SampleAudit::digest(comm::Communicator& communicator) const {
  return before_ + communicator.all_reduce(mine_, comm::Op::kSum);
}

void SampleAudit::start_epoch() { resume(0, 0); }

void SampleAudit::resume(std::uint64_t digest, std::int64_t samples) {
  before_ = digest;
  mine_ = 0;
  samples_ = samples;
}

}  // namespace lockstep::train
