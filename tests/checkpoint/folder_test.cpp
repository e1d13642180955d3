// SPDX-License-Identifier: MIT
#include "checkpoint/folder.hpp"

#include "support/catch.hpp"

using namespace lockstep::checkpoint;
using Steps = std::vector<std::int64_t>;

TEST_CASE("a step has one file name", "[checkpoint]") {
  CHECK(data_name(1234) == "step-00001234.h5");
  CHECK(manifest_name(1234) == "step-00001234.json");
  CHECK(step_of("step-00001234.h5") == 1234);
  CHECK(step_of(data_name(123456789012)) == 123456789012);
  for (const char* other : {"step-1234.h5",
                            "step-000001234.h5",
                            "step-00001234.H5",
                            "Step-00001234.h5",
                            "step-00001234.json",
                            "step-0000-234.h5",
                            "step-.h5",
                            "step-00001234.h5.tmp-1-0123456789abcdef",
                            "step-99999999999999999999.h5",
                            "../step-00001234.h5",
                            ""}) {
    INFO(other);
    CHECK_FALSE(step_of(other));
  }
}

TEST_CASE("left-overs are temporaries of our own files only", "[checkpoint]") {
  CHECK(is_leftover("step-00001234.h5.tmp-1-0123456789abcdef"));
  CHECK(is_leftover("step-00001234.json.tmp-1-0123456789abcdef"));
  CHECK(is_leftover("latest.tmp-1-0123456789abcdef"));
  for (const char* other : {"step-00001234.h5",
                            "latest",
                            "notes.tmp-1-0123456789abcdef",
                            "step-1.h5.tmp-1-0123456789abcdef",
                            ".tmp-1-0"}) {
    INFO(other);
    CHECK_FALSE(is_leftover(other));
  }
}

TEST_CASE("retention keeps the newest complete ones and all that is newer", "[checkpoint][C05]") {
  const std::vector<Held> good = {{10, true}, {40, true}, {20, true}, {30, true}};
  CHECK(superseded(good, 40, 2) == Steps{10, 20});
  CHECK(superseded(good, 40, 1) == Steps{10, 20, 30});
  CHECK(superseded(good, 40, 4).empty());
  CHECK(superseded(good, 40, 9).empty());
  CHECK(superseded(good, 40, 0).empty());
  // A damaged one does not count, and goes only when enough good ones are newer.
  const std::vector<Held> mixed = {{10, true}, {20, true}, {30, false}, {40, true}};
  CHECK(superseded(mixed, 40, 2) == Steps{10});
  CHECK(superseded(mixed, 40, 1) == Steps{10, 20, 30});
  CHECK(superseded(std::vector<Held>{{10, false}, {20, true}, {30, true}}, 30, 2) == Steps{10});
  CHECK(superseded(std::vector<Held>{{10, false}, {20, false}, {30, true}}, 30, 2).empty());
  // After a resume from an older one: what is newer than the present step is left alone and not
  // counted.
  CHECK(superseded(good, 20, 1) == Steps{10});
  CHECK(superseded(good, 20, 2).empty());
}
