// SPDX-License-Identifier: MIT
#include "metrics/progress.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ostream>

#include "core/text.hpp"

namespace lockstep::metrics {
namespace {

constexpr double kLineEvery_s = 10;
constexpr double kBarEvery_s = 0.1;
constexpr int kBarCells = 20;

std::string rounded(const char* format, double value) {
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(), buffer.size(), format, value);
  return buffer.data();
}

double share_done(const Snapshot& now) {
  return now.total_steps > 0
             ? std::min(1.0, static_cast<double>(now.step) / static_cast<double>(now.total_steps))
             : 0;
}

// "[#####...............] ", in colour where that is welcome.
std::string bar(const Snapshot& now, bool color) {
  if (now.total_steps <= 0) return "";
  const int full = static_cast<int>(share_done(now) * kBarCells);
  const std::string done(static_cast<std::size_t>(full), '#');
  const std::string open(static_cast<std::size_t>(kBarCells - full), '.');
  return color ? cat("[\x1b[32m", done, "\x1b[0m", open, "] ") : cat("[", done, open, "] ");
}

// Open MPI gives its ranks a pipe for stderr and copies it to its own: whether people look is a
// question about the launcher's stream. It is our parent, on the node where mpirun was typed.
class LauncherStream {
 public:
  explicit LauncherStream(int fd) {
    struct stat ours {};
    const bool piped = fstat(fd, &ours) == 0 && S_ISFIFO(ours.st_mode);
    if (!piped || std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) return;
    fd_ = open(cat("/proc/", getppid(), "/fd/", fd).c_str(),
               O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  }
  ~LauncherStream() {
    if (fd_ >= 0) close(fd_);
  }
  LauncherStream(const LauncherStream&) = delete;
  LauncherStream& operator=(const LauncherStream&) = delete;
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

}  // namespace

Terminal look_at(int fd) {
  const LauncherStream launcher(fd);
  if (launcher.get() >= 0) fd = launcher.get();
  Terminal found;
  found.is_terminal = isatty(fd) == 1;
  winsize size{};
  if (found.is_terminal && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    found.columns = size.ws_col;
  const char* const term = std::getenv("TERM");
  const char* const no_color = std::getenv("NO_COLOR");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  found.color = found.is_terminal && !dumb && (no_color == nullptr || *no_color == '\0');
  return found;
}

Style style_of(const std::string& choice, const Terminal& terminal) {
  if (choice == "none") return Style::kNone;
  if (choice == "lines") return Style::kLines;
  return terminal.is_terminal ? Style::kBar : Style::kLines;
}

std::string duration_text(double seconds) {
  const auto all = static_cast<std::int64_t>(std::llround(std::clamp(seconds, 0.0, 1e12)));
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(),
                buffer.size(),
                "%lld:%02lld:%02lld",
                static_cast<long long>(all / 3600),
                static_cast<long long>(all / 60 % 60),
                static_cast<long long>(all % 60));
  return buffer.data();
}

std::string describe(const Snapshot& now) {
  std::string out = cat("step ", now.step);
  if (now.total_steps > 0)
    out += cat("/", now.total_steps, " (", rounded("%.1f%%", 100 * share_done(now)), ")");
  out += cat(" | epoch ",
             now.epoch,
             " | loss ",
             rounded("%.4g", now.loss),
             " | lr ",
             rounded("%.4g", now.lr));
  if (now.samples_per_s > 0) {
    out += cat(" | ",
               rounded(now.samples_per_s < 10 ? "%.2f" : "%.0f", now.samples_per_s),
               " samples/s");
    out += cat(" | data wait ", rounded("%.0f%%", 100 * now.data_wait_share));
  }
  if (now.step_ms > 0 && now.total_steps > 0) {
    out += cat(
        " | ",
        duration_text(static_cast<double>(std::max<std::int64_t>(0, now.total_steps - now.step)) *
                      now.step_ms / 1e3),
        " left");
  }
  return out;
}

Progress::Progress(std::ostream& out, Config config) : out_(out), config_(std::move(config)) {}

Progress::~Progress() {
  try {
    if (bar_on_screen_)
      out_ << std::endl;  // also while an error is on its way: its text begins on a line of its own
  } catch (...) {
  }
}

bool Progress::due(const Snapshot& now) const {
  if (shown_step_ < 0) return true;
  if (config_.style == Style::kLines && config_.log_every > 0)
    return now.step % config_.log_every == 0;
  return config_.clock() - shown_at_ >= (config_.style == Style::kBar ? kBarEvery_s : kLineEvery_s);
}

void Progress::update(const Snapshot& now) {
  if (config_.style == Style::kNone) return;
  last_ = now;
  if (due(now)) show(now);
}

void Progress::show(const Snapshot& now) {
  if (config_.style == Style::kBar) {
    const auto room = static_cast<std::size_t>(std::max(10, config_.terminal.columns - 1));
    const auto text = describe(now);
    const bool both = text.size() + kBarCells + 3 <= room;  // the figures come first
    out_ << '\r' << (both ? bar(now, config_.terminal.color) : "") << text.substr(0, room)
         << "\x1b[K" << std::flush;
    bar_on_screen_ = true;
  } else {
    out_ << describe(now) << std::endl;
  }
  shown_step_ = now.step;
  shown_at_ = config_.clock();
}

void Progress::say(const std::string& line) {
  if (config_.style == Style::kNone) return;
  if (bar_on_screen_) out_ << "\r\x1b[K";
  bar_on_screen_ = false;
  out_ << line << std::endl;
}

void Progress::finish() {
  if (config_.style == Style::kNone) return;
  if (last_.step > 0 && last_.step != shown_step_) show(last_);
  if (bar_on_screen_) out_ << std::endl;
  bar_on_screen_ = false;
}

Progress::Config progress_config(const Options& options, int rank) {
  const Terminal terminal = look_at(STDERR_FILENO);
  return {.style = rank == 0 ? style_of(options.progress, terminal) : Style::kNone,
          .terminal = terminal,
          .log_every = options.log_every};
}

}  // namespace lockstep::metrics
