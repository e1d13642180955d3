// SPDX-License-Identifier: MIT
// What people see of a running training: one line that rewrites itself on a terminal, a line about
// every 10 s in a file, which then holds no control characters. Rank 0 only.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

#include "core/clock.hpp"
#include "metrics/options.hpp"

namespace lockstep::metrics {

/// A moment of the training.
struct Snapshot {
  std::int64_t step = 0;         ///< done so far
  std::int64_t total_steps = 0;  ///< 0: not known
  std::int64_t epoch = 0;
  double loss = 0;
  double lr = 0;
  double samples_per_s = 0;    ///< 0: not known yet
  double step_ms = 0;          ///< for the time left; 0: not known yet
  double data_wait_share = 0;  ///< 0 to 1
};

/// What an output stream leads to. Behind Open MPI's pipe: what the launcher's stream leads to.
struct Terminal {
  bool is_terminal = false;
  int columns = 80;
  bool color = false;  ///< a terminal that can, and NO_COLOR is not set
};
Terminal look_at(int fd);

enum class Style { kBar, kLines, kNone };
/// --progress `choice` for an output; a bar that is asked for in a file is taken as lines.
Style style_of(const std::string& choice, const Terminal& terminal);

/// "step 120/9380 (1.3%) | epoch 0 | loss 0.4312 | lr 0.01 | 5230 samples/s | data wait 3% |
/// 0:02:10 left"
std::string describe(const Snapshot& now);

/// "0:02:10", "26:00:00".
std::string duration_text(double seconds);

/// Not thread-safe.
class Progress {
 public:
  struct Config {
    Style style = Style::kNone;
    Terminal terminal;
    std::int64_t log_every = 0;                         ///< lines: steps between them; 0: by time
    std::function<double()> clock = monotonic_seconds;  ///< seconds
  };
  /// `out` must outlive it.
  Progress(std::ostream& out, Config config);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Call after every step: shows it when it is time. The first step is always shown.
  void update(const Snapshot& now);
  /// A line of its own, above the bar.
  void say(const std::string& line);
  /// Shows the last step if that was not done, and ends the bar's line. Safe to call twice.
  void finish();

 private:
  bool due(const Snapshot& now) const;
  void show(const Snapshot& now);

  std::ostream& out_;
  Config config_;
  Snapshot last_;
  std::int64_t shown_step_ = -1;
  double shown_at_ = 0;
  bool bar_on_screen_ = false;
};

/// How rank `rank` reports on stderr.
Progress::Config progress_config(const Options& options, int rank);

}  // namespace lockstep::metrics
