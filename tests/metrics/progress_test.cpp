// SPDX-License-Identifier: MIT
#include "metrics/progress.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

#include "core/error.hpp"
#include "support/catch.hpp"

using namespace lockstep::metrics;

namespace {

/// A progress with a clock that the test turns.
struct Stage {
  double now = 100;
  std::ostringstream out;
  Progress progress;

  explicit Stage(Style style, std::int64_t log_every = 0, int columns = 200)
      : progress(out, {style, {style == Style::kBar, columns, false}, log_every, [this] {
                         return now;
                       }}) {}
  void step(std::int64_t step, double seconds) {
    now += seconds;
    progress.update(
        {.step = step, .total_steps = 100, .loss = 1.0 / static_cast<double>(step), .lr = 0.01});
  }
  std::int64_t lines() const {
    const auto text = out.str();
    return std::count(text.begin(), text.end(), '\n');
  }
  bool shows(const std::string& part) const { return out.str().find(part) != std::string::npos; }
};

}  // namespace

TEST_CASE("a moment of the training is told in one line", "[metrics]") {
  Snapshot now{.step = 120,
               .total_steps = 9380,
               .epoch = 2,
               .loss = 0.43121,
               .lr = 0.01,
               .samples_per_s = 5230.4,
               .step_ms = 100,
               .data_wait_share = 0.031};
  CHECK(describe(now) ==
        "step 120/9380 (1.3%) | epoch 2 | loss 0.4312 | lr 0.01 | 5230 samples/s | data wait 3% | "
        "0:15:26 left");
  now.total_steps = 0;
  now.samples_per_s = 0;
  CHECK(describe(now) ==
        "step 120 | epoch 2 | loss 0.4312 | lr 0.01");  // what is not known is left out
  now.loss = std::numeric_limits<double>::quiet_NaN();
  CHECK(describe(now).find("loss nan") != std::string::npos);
}

TEST_CASE("durations are hours, minutes and seconds", "[metrics]") {
  CHECK(duration_text(0) == "0:00:00");
  CHECK(duration_text(59.6) == "0:01:00");
  CHECK(duration_text(93600) == "26:00:00");
  CHECK(duration_text(-1) == "0:00:00");
}

TEST_CASE("in a file there is a line about every 10 seconds, and no control characters",
          "[metrics]") {
  Stage stage(Style::kLines);
  for (int i = 1; i <= 50; ++i) stage.step(i, 1);
  CHECK(stage.lines() == 5);  // steps 1, 11, 21, 31, 41
  CHECK(stage.shows("step 1/100"));
  CHECK(stage.shows("step 41/100"));
  stage.progress.finish();
  CHECK(stage.lines() == 6);
  CHECK(stage.shows("step 50/100"));
  stage.progress.finish();
  CHECK(stage.lines() == 6);
  for (const char c : stage.out.str()) CHECK((c == '\n' || c >= ' '));
}

TEST_CASE("--log-every counts steps instead", "[metrics]") {
  Stage stage(Style::kLines, 4);
  for (int i = 1; i <= 17; ++i) stage.step(i, 1000);
  stage.progress.finish();
  CHECK(stage.lines() == 6);  // 1, 4, 8, 12, 16, and the last: 17
  CHECK(stage.shows("step 17/100"));
}

TEST_CASE("on a terminal one line rewrites itself, ten times a second at most", "[metrics]") {
  Stage stage(Style::kBar);
  for (int i = 1; i <= 100; ++i) stage.step(i, 0.01);
  const auto text = stage.out.str();
  const auto redraws = std::count(text.begin(), text.end(), '\r');
  CHECK(redraws >= 9);
  CHECK(redraws <= 11);
  CHECK(stage.lines() == 0);
  stage.progress.finish();
  CHECK(stage.lines() == 1);
  CHECK(stage.shows("[####################] step 100/100"));
}

TEST_CASE("a bar fits the terminal, whatever its width", "[metrics]") {
  for (const int columns : {5, 20, 40, 80}) {
    CAPTURE(columns);
    Stage stage(Style::kBar, 0, columns);
    stage.step(1, 0);
    auto text = stage.out.str();
    text = text.substr(1, text.find('\x1b') - 1);
    CHECK(text.size() <= static_cast<std::size_t>(std::max(columns - 1, 10)));
  }
}

TEST_CASE("where both do not fit, the figures are shown and the bar is not", "[metrics]") {
  Stage stage(Style::kBar, 0, 60);
  stage.step(1, 0);
  CHECK(stage.shows("\rstep 1/100 (1.0%) | epoch 0 | loss 1 | lr 0.01\x1b"));
}

TEST_CASE("a line said in between does not run into the bar", "[metrics]") {
  Stage stage(Style::kBar);
  stage.step(1, 1);
  stage.progress.say("saved step-00000001.h5");
  CHECK(stage.shows("\r\x1b[Ksaved step-00000001.h5\n"));
  stage.step(2, 1);
  CHECK(stage.shows("\n\r["));
}

TEST_CASE("nothing is shown where nothing is wanted", "[metrics]") {
  Stage stage(Style::kNone);
  stage.step(1, 100);
  stage.progress.say("x");
  stage.progress.finish();
  CHECK(stage.out.str().empty());
}

TEST_CASE("auto is a bar on a terminal and lines elsewhere; a bar in a file is taken as lines",
          "[metrics]") {
  const Terminal screen{true, 80, true}, file{};
  CHECK(style_of("auto", screen) == Style::kBar);
  CHECK(style_of("auto", file) == Style::kLines);
  CHECK(style_of("bar", file) == Style::kLines);
  CHECK(style_of("lines", screen) == Style::kLines);
  CHECK(style_of("none", screen) == Style::kNone);
  CHECK(progress_config({}, 1).style == Style::kNone);  // rank 0 speaks
}

TEST_CASE("colour only where it is a terminal and NO_COLOR is not set", "[metrics]") {
  CHECK_FALSE(look_at(-1).is_terminal);
  CHECK_FALSE(look_at(-1).color);
  std::ostringstream plain, colored;
  Progress(plain, {Style::kBar, {true, 80, false}, 0}).update({.step = 50, .total_steps = 100});
  Progress(colored, {Style::kBar, {true, 80, true}, 0}).update({.step = 50, .total_steps = 100});
  CHECK(plain.str().find("\x1b[32m") == std::string::npos);
  CHECK(colored.str().find("\x1b[32m##########\x1b[0m..........") != std::string::npos);
}

TEST_CASE("the options are read and left out of the digest", "[metrics]") {
  Options options;
  lockstep::config::OptionTable table;
  describe(table, options);
  const auto before = table.digest();
  std::vector<std::string> warnings;
  table.parse({"--log-every", "4", "--progress", "lines"}, warnings);
  CHECK(options.log_every == 4);
  CHECK(options.progress == "lines");
  CHECK(table.digest() == before);
  CHECK_THROWS_AS(table.parse({"--progress", "dots"}, warnings), lockstep::UsageError);
}
