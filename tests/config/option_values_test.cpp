// SPDX-License-Identifier: MIT
// What the command line accepts and refuses, one value at a time.
#include <algorithm>

#include "config/sample.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::error_of;
using lockstep::test::Sample;
using Texts = std::vector<std::string>;

TEST_CASE("each kind of option is read", "[config]") {
  Sample sample;
  const auto rest = sample.parse({"--batch-size",
                                  "96",
                                  "--lr=1e-3",
                                  "--nesterov",
                                  "--data",
                                  "some where",
                                  "--mode",
                                  "dp",
                                  "--freeze",
                                  "a.*",
                                  "--freeze",
                                  "b"});
  CHECK(rest.empty());
  CHECK(sample.batch_size == 96);
  CHECK(sample.lr == 1e-3);
  CHECK(sample.nesterov);
  CHECK(sample.data == "some where");
  CHECK(sample.mode == "dp");
  CHECK(sample.freeze == Texts{"a.*", "b"});
  CHECK(sample.table.given("lr"));
  CHECK_FALSE(sample.table.given("epochs"));
}

TEST_CASE("a switch can be turned off", "[config][K05]") {
  Sample sample;
  sample.nesterov = true;
  sample.parse({"--nesterov=false"});
  CHECK_FALSE(sample.nesterov);
  CHECK(contains(error_of({"--nesterov=0"}), "64 --nesterov: '0'"));
  CHECK(contains(error_of({"--nesterov=off"}), "allowed: true, false"));
}

TEST_CASE("words that are no options are handed back in their order", "[config]") {
  Sample sample;
  CHECK(sample.parse({"first", "--batch-size", "8", "second"}) == Texts{"first", "second"});
  CHECK(sample.batch_size == 8);
}

TEST_CASE("impossible numbers are refused with option, value and what is allowed",
          "[config][K03]") {
  struct Wrong {
    const char *option, *value, *allowed;
  };
  const auto wrong = GENERATE(Wrong{"batch-size", "0", "[1, 1000000]"},
                              Wrong{"batch-size", "-4", "[1, 1000000]"},
                              Wrong{"batch-size", "4.5", "whole number"},
                              Wrong{"batch-size", "0x10", "whole number"},
                              Wrong{"batch-size", "99999999999", "[1, 1000000]"},
                              Wrong{"batch-size", "99999999999999999999", "[1, 1000000]"},
                              Wrong{"batch-size", "8 ", "whole number"},
                              Wrong{"batch-size", "", "whole number"},
                              Wrong{"epochs", "-1", ">= 0"},
                              Wrong{"lr", "-1", ">= 0"},
                              Wrong{"lr", "nan", ">= 0"},
                              Wrong{"lr", "inf", ">= 0"},
                              Wrong{"lr", "1e999", ">= 0"},
                              Wrong{"lr", "1e-3x", ">= 0"},
                              Wrong{"lr", "", ">= 0"},
                              Wrong{"clip-norm", "nan", ">= 0"},
                              Wrong{"clip-norm", "-1", ">= 0"});
  const auto text = error_of({std::string("--") + wrong.option + "=" + wrong.value});
  CAPTURE(wrong.option, wrong.value, text);
  CHECK(text.substr(0, 3) == "64 ");
  CHECK(contains(text, std::string("--") + wrong.option));
  CHECK((std::string(wrong.value).empty() || contains(text, std::string("'") + wrong.value + "'")));
  CHECK((std::string(wrong.value).empty() || contains(text, wrong.allowed)));
}

TEST_CASE(
    "a negative number may follow as a word of its own and is refused as a value, not as an option",
    "[config][K03]") {
  const auto text = error_of({"--batch-size", "-4"});
  CAPTURE(text);
  CHECK(contains(text, "64 --batch-size"));
  CHECK(contains(text, "-4"));
}

TEST_CASE("zero where it means off or none is allowed", "[config][K03][K05]") {
  Sample sample;
  sample.parse({"--lr", "0", "--epochs", "0", "--clip-norm", "0"});
  CHECK(sample.lr == 0);
  CHECK(sample.epochs == 0);
}

TEST_CASE("other words for off are refused", "[config][K05]") {
  for (const std::string word : {"none", "None", "off", "false"}) {
    CAPTURE(word);
    CHECK(contains(error_of({"--clip-norm", word}), "64 --clip-norm: '" + word + "'"));
    CHECK(contains(error_of({"--mode", word}), "allowed: ddp, dp, manual"));
  }
}

TEST_CASE("an unknown option is refused with the nearest names", "[config][K01]") {
  CHECK(contains(error_of({"--bacth-size", "4"}), "64 unknown option --bacth-size"));
  CHECK(contains(error_of({"--bacth-size", "4"}), "batch-size"));
  CHECK(contains(error_of({"--bacth-size=4"}), "batch-size"));
  CHECK(contains(error_of({"--num-epochs", "4"}), "unknown option --num-epochs"));
  CHECK(contains(error_of({"--quantum-entanglement"}), "--help"));
}

TEST_CASE("abbreviations are refused", "[config]") {
  CHECK(contains(error_of({"--batch", "4"}), "64 unknown option --batch"));
  CHECK(contains(error_of({"--epoch=4"}), "64 unknown option --epoch"));
  Sample sample;
  CHECK(sample.parse({"-b", "4"}) ==
        Texts{"-b", "4"});  // no option: the command decides what to say about it
}

TEST_CASE("an option that takes one value is refused when given twice", "[config]") {
  const auto text = error_of({"--lr", "1", "--lr", "2"});
  CHECK(contains(text, "64 --lr is given 2 times (1, 2)"));
}

TEST_CASE("a missing value is refused, also where an option follows", "[config]") {
  CHECK(contains(error_of({"--batch-size"}), "64 "));
  CHECK(contains(error_of({"--batch-size"}), "batch-size"));
  CHECK(contains(error_of({"--data", "--lr", "1"}), "64 "));
}

TEST_CASE("text with line ends is refused: it could not be written to a config file", "[config]") {
  CHECK(contains(error_of({"--data", "a\nlr = 5"}), "64 --data"));
}
