// SPDX-License-Identifier: MIT
// Command line over environment over file over default; what a file may say.
#include <algorithm>

#include "config/sample.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/files.hpp"

using namespace lockstep;
using namespace lockstep::test;
using Texts = std::vector<std::string>;

TEST_CASE("the command line wins over the environment, that over the file, that over the default",
          "[config][K01]") {
  const TemporaryFolder folder;
  const auto file = (folder / "run.ini").string();
  write_file(file, "batch-size = 1\nepochs = 1\nlr = 1\n");
  const ScopedVariable lr("LOCKSTEP_LR", "2");
  const ScopedVariable epochs("LOCKSTEP_EPOCHS", "2");
  Sample sample;
  sample.parse({"--epochs", "3", "--config", file});
  CHECK(sample.epochs == 3);
  CHECK(sample.lr == 2);
  CHECK(sample.batch_size == 1);
  CHECK(sample.mode == "ddp");
  CHECK(sample.table.find("epochs")->source == config::Source::kCommandLine);
  CHECK(sample.table.find("lr")->source == config::Source::kEnvironment);
  CHECK(sample.table.find("batch-size")->source == config::Source::kFile);
  CHECK(sample.table.find("mode")->source == config::Source::kDefault);
  CHECK(sample.table.changed() ==
        Texts{"batch-size = 1 (file)", "epochs = 3 (command line)", "lr = 2 (environment)"});
}

TEST_CASE("a list is taken from one source, never joined over several", "[config]") {
  const TemporaryFolder folder;
  const auto file = (folder / "run.ini").string();
  write_file(file, "freeze = a\nfreeze = b\n");
  Sample from_file;
  from_file.parse({"--config", file});
  CHECK(from_file.freeze == Texts{"a", "b"});
  Sample from_both;
  from_both.parse({"--freeze", "c", "--config", file});
  CHECK(from_both.freeze == Texts{"c"});
}

TEST_CASE("an unknown variable with our prefix is a warning, not an error", "[config]") {
  const ScopedVariable wrong("LOCKSTEP_BACTH_SIZE", "4");
  const ScopedVariable other("OMP_NUM_THREADS", "4");
  Sample sample;
  sample.parse({});
  const auto& all = sample.warnings;
  CHECK(std::count_if(all.begin(), all.end(), [](const auto& w) {
          return contains(w, "LOCKSTEP_BACTH_SIZE");
        }) == 1);
  CHECK(std::none_of(all.begin(), all.end(), [](const auto& w) {
    return contains(w, "OMP_NUM_THREADS");
  }));
}

TEST_CASE("a wrong value of a variable names the variable", "[config][K03]") {
  const ScopedVariable wrong("LOCKSTEP_BATCH_SIZE", "-4");
  const auto text = error_of({});
  CHECK(contains(text, "LOCKSTEP_BATCH_SIZE"));
  CHECK(contains(text, "'-4'"));
}

TEST_CASE("a file has comments, blank lines and white space around names and values", "[config]") {
  const TemporaryFolder folder;
  const auto file = (folder / "run.ini").string();
  write_file(file, "# all of it\n\n  lr=0.5   # high\r\n\tdata =  a b\n");
  Sample sample;
  sample.parse({"--config", file});
  CHECK(sample.lr == 0.5);
  CHECK(sample.data == "a b");
}

TEST_CASE("what is wrong in a file is told with file and line", "[config][K01]") {
  struct Wrong {
    const char *text, *line, *says;
  };
  const auto wrong =
      GENERATE(Wrong{"lr = 1\nleraning_rate = 0.5\n", ":2", "unknown option 'leraning_rate'"},
               Wrong{"epoch = 1\n", ":1", "did you mean epochs"},
               Wrong{"# x\n\nlr = nan\n", ":3", "'nan'"},
               Wrong{"batch-size = -4\n", ":1", "[1, 1000000]"},
               Wrong{"lr = 1\nepochs = 2\nlr = 2\n", ":3", "already set in line 1"},
               Wrong{"lr =\n", ":1", "no value"},
               Wrong{"[optimiser]\nlr = 1\n", ":1", "name = value"},
               Wrong{"mode = pp\n", ":1", "allowed: ddp, dp, manual"});
  const TemporaryFolder folder;
  const auto file = (folder / "run.ini").string();
  write_file(file, wrong.text);
  const auto text = error_of({"--config", file});
  CAPTURE(text);
  CHECK(contains(text, "78 " + file + wrong.line));
  CHECK(contains(text, wrong.says));
}

TEST_CASE("a missing config file is an error with its name", "[config]") {
  const auto text = error_of({"--config", "no/such/file.ini"});
  CHECK(text.substr(0, 2) != "");
  CHECK(contains(text, "no/such/file.ini"));
  CHECK(contains(error_of({"--config", "a", "--config", "b"}), "64 --config"));
}

TEST_CASE("a config file inside a config file is refused", "[config]") {
  const TemporaryFolder folder;
  const auto file = (folder / "run.ini").string();
  write_file(file, "config = other.ini\n");
  CHECK(contains(error_of({"--config", file}), "78 " + file + ":1"));
}
