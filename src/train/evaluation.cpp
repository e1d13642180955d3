// SPDX-License-Identifier: MIT
#include "train/evaluation.hpp"

#include <array>

#include "core/clock.hpp"
#include "data/loader.hpp"

namespace lockstep::train {

Evaluation evaluate(const data::DataSet& set,
                    std::int64_t batch_size,
                    int reader_threads,
                    model::Network& network,
                    const model::Task& task,
                    comm::Communicator& communicator) {
  const Stopwatch watch;
  const data::Sampler sampler(
      {.samples = set.samples, .batch_size = batch_size, .shuffle = data::Shuffle::kNone});
  data::Loader loader(set,
                      sampler,
                      {.share = {communicator.ranks(), communicator.rank(), 1},
                       .windows = sampler.steps_per_epoch(),
                       .reader_threads = reader_threads});
  network.eval();
  const torch::InferenceMode inference;
  Evaluation result;
  while (const auto loaded = loader.next()) {
    if (loaded->batch.size() == 0) continue;
    const auto counts = task.count(network.forward(loaded->batch.inputs), loaded->batch);
    result.counts.samples += counts.samples;
    result.counts.predictions += counts.predictions;
    result.counts.correct += counts.correct;
    result.counts.loss_sum += counts.loss_sum;
    result.counts.weight += counts.weight;
  }
  std::array<std::int64_t, 3> whole = {result.counts.samples,
                                       result.counts.predictions,
                                       result.counts.correct};
  std::array<double, 2> real = {result.counts.loss_sum, result.counts.weight};
  communicator.all_reduce(std::span(whole), comm::Op::kSum);
  communicator.all_reduce(std::span(real), comm::Op::kSum);
  result.counts = {whole[0], whole[1], whole[2], real[0], real[1]};
  result.ms = watch.ms();
  return result;
}

}  // namespace lockstep::train
