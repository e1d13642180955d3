// SPDX-License-Identifier: MIT
#include "metrics/meter.hpp"

#include "support/catch.hpp"

using namespace lockstep::metrics;

TEST_CASE("an average is weighted, and 0 before anything came", "[metrics]") {
  Average average;
  CHECK(average.mean() == 0);
  average.add(1, 3);
  average.add(5, 1);
  CHECK(average.mean() == 2);
  CHECK(average.weight() == 4);
  average.add(100, 0);  // a rank without samples
  CHECK(average.mean() == 2);
  average.reset();
  CHECK(average.weight() == 0);
}

TEST_CASE("samples per second are those of the steps after the first", "[metrics][F02]") {
  Throughput meter;
  meter.add(8, 5000);  // warming up
  CHECK(meter.samples_per_s() == 0);
  CHECK(meter.step_ms() == 0);
  for (int i = 0; i < 9; ++i) meter.add(8, 1000, 250);
  CHECK(meter.samples_per_s() == 8);
  CHECK(meter.mean_samples_per_s() == 8);
  CHECK(meter.step_ms() == 1000);
  CHECK(meter.data_wait_share() == 0.25);
  CHECK(meter.samples() == 80);  // the total counts every step
  CHECK(meter.steps() == 10);
}

TEST_CASE("accumulation counts all samples of the update", "[metrics][F02]") {
  Throughput one, four;
  for (int i = 0; i < 10; ++i) {
    one.add(8, 1000);
    four.add(32, 4000);
  }
  CHECK(one.samples_per_s() == four.samples_per_s());
}

TEST_CASE("recent figures forget what is older than the window, the mean does not", "[metrics]") {
  Throughput meter(3);
  meter.add(10, 1000);
  for (int i = 0; i < 5; ++i) meter.add(10, 1000);
  for (int i = 0; i < 3; ++i) meter.add(10, 500);
  CHECK(meter.samples_per_s() == 20);
  CHECK(meter.mean_samples_per_s() == Approx(80 / 6.5));
}

TEST_CASE("uneven steps are averaged over time, not over steps", "[metrics][F02]") {
  Throughput meter;
  meter.add(1, 1);
  meter.add(10, 1000);
  meter.add(2, 200);
  CHECK(meter.samples_per_s() == 10);
}
