// SPDX-License-Identifier: MIT
// Sums over steps that become the figures of progress lines and of the last row. Durations come
// from the caller, so that evaluation and saving are left out by not being handed in.
#pragma once

#include <cstdint>
#include <deque>

namespace lockstep::metrics {

/// A weighted mean.
class Average {
 public:
  void add(double value, double weight = 1);
  /// 0 where nothing was added.
  double mean() const;
  double weight() const { return weight_; }
  void reset() { *this = {}; }

 private:
  double sum_ = 0;
  double weight_ = 0;
};

/// Samples per second of all ranks together: samples of the global batch over the wall time of the
/// steps. The first step, which allocates and warms up, is counted as samples but left out of every
/// rate.
class Throughput {
 public:
  /// `window`: how many steps the recent figures cover.
  explicit Throughput(std::size_t window = 50) : window_(window) {}

  /// One step: samples over all ranks, its wall time, and the part of it spent waiting for data.
  void add(std::int64_t samples, double ms, double data_wait_ms = 0);

  /// Recent figures; 0 before the second step.
  double samples_per_s() const { return recent_.rate(); }
  double step_ms() const {
    return recent_.steps > 0 ? recent_.ms / static_cast<double>(recent_.steps) : 0;
  }
  /// Share of the time spent waiting for data, 0 to 1.
  double data_wait_share() const { return recent_.ms > 0 ? recent_.wait_ms / recent_.ms : 0; }

  /// Over the whole run but for the first step.
  double mean_samples_per_s() const { return all_.rate(); }
  /// All samples, those of the first step included.
  std::int64_t samples() const { return samples_; }
  std::int64_t steps() const { return steps_; }

 private:
  struct Sum {
    std::int64_t steps = 0;
    std::int64_t samples = 0;
    double ms = 0;
    double wait_ms = 0;
    double rate() const { return ms > 0 ? static_cast<double>(samples) * 1e3 / ms : 0; }
    void add(const Sum& other);
  };
  std::size_t window_;
  std::deque<Sum> last_;
  Sum recent_;
  Sum all_;
  std::int64_t samples_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace lockstep::metrics
