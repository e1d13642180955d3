// SPDX-License-Identifier: MIT
#include "metrics/meter.hpp"

namespace lockstep::metrics {

void Average::add(double value, double weight) {
  sum_ += value * weight;
  weight_ += weight;
}

double Average::mean() const { return weight_ > 0 ? sum_ / weight_ : 0; }

void Throughput::Sum::add(const Sum& other) {
  steps += other.steps;
  samples += other.samples;
  ms += other.ms;
  wait_ms += other.wait_ms;
}

void Throughput::add(std::int64_t samples, double ms, double data_wait_ms) {
  samples_ += samples;
  if (++steps_ == 1) return;
  last_.push_back({1, samples, ms, data_wait_ms});
  all_.add(last_.back());
  if (last_.size() > window_) last_.pop_front();
  recent_ = {};  // anew, not by differences: rounding would pile up over a long run
  for (const auto& step : last_) recent_.add(step);
}

}  // namespace lockstep::metrics
