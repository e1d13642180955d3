// SPDX-License-Identifier: MIT
#include "metrics/table.hpp"

#include "core/error.hpp"
#include "support/catch.hpp"

using namespace lockstep::metrics;

TEST_CASE("columns are as wide as their widest cell and aligned", "[metrics]") {
  Table table({{"rank", Align::kRight}, {"host"}, {"threads", Align::kRight}});
  table.add({"0", "n01", "2"}).add({"10", "node-12", "16"});
  CHECK(table.text("  ") ==
        "  rank  host     threads\n"
        "     0  n01            2\n"
        "    10  node-12       16\n");
}

TEST_CASE("no line ends with spaces, and missing cells are empty", "[metrics]") {
  Table table({{"name"}, {"value"}});
  table.add({"a"}).add({"bb", "x"}).add({});
  CHECK(table.text() == "name  value\na\nbb    x\n\n");
}

TEST_CASE("without titles there is no head", "[metrics]") {
  Table table({{""}, {"", Align::kRight}});
  table.add({"loss", "0.5"});
  CHECK(table.text() == "loss  0.5\n");
}

TEST_CASE("characters beyond ASCII take one column", "[metrics]") {
  Table table({{"a"}, {"b"}});
  table.add({"\xc3\xa4\xc3\xb6", "x"}).add({"cd", "y"});
  CHECK(table.text() == "a   b\n\xc3\xa4\xc3\xb6  x\ncd  y\n");
}

TEST_CASE("more cells than columns are a bug", "[metrics]") {
  Table table({{"a"}});
  CHECK_THROWS_AS(table.add({"1", "2"}), lockstep::InternalError);
}
