// SPDX-License-Identifier: MIT
#include "core/unique_handle.hpp"

#include <type_traits>
#include <vector>

#include "core/error.hpp"
#include "core/recorder.hpp"
#include "support/catch.hpp"

using namespace lockstep;

namespace {
std::vector<int> closed;

struct Traits {
  using Value = int;
  static int invalid() { return -1; }
  static void close(int value) noexcept { closed.push_back(value); }
};
using Handle = UniqueHandle<Traits>;
static_assert(!std::is_copy_constructible_v<Handle> && !std::is_copy_assignable_v<Handle>);
static_assert(std::is_nothrow_move_constructible_v<Handle> &&
              std::is_nothrow_move_assignable_v<Handle>);
}  // namespace

TEST_CASE("a handle is closed once, by whoever owns it last", "[core]") {
  closed.clear();
  {
    Handle a(3);
    Handle b = std::move(a);
    CHECK_FALSE(a);
    CHECK(b.get() == 3);
  }
  CHECK(closed == std::vector{3});
}

TEST_CASE("taking over closes what was there before", "[core]") {
  closed.clear();
  Handle a(1);
  a = Handle(2);
  CHECK(closed == std::vector{1});
  auto& same = a;
  a = std::move(same);
  CHECK(a.get() == 2);
  a.reset();
  a.reset();
  CHECK(closed == std::vector{1, 2});
}

TEST_CASE("a released handle and an empty one are not closed", "[core]") {
  closed.clear();
  {
    Handle empty;
    Handle a(4);
    CHECK(a.release() == 4);
    CHECK_FALSE(a);
  }
  CHECK(closed.empty());
}

TEST_CASE("errors carry the documented exit codes", "[core][L02]") {
  CHECK(UsageError("").code() == ExitCode{64});
  CHECK(DataError("").code() == ExitCode{65});
  CHECK(MissingInputError("").code() == ExitCode{66});
  CHECK(InternalError("").code() == ExitCode{70});
  CHECK(CannotCreateError("").code() == ExitCode{73});
  CHECK(IoError("").code() == ExitCode{74});
  CHECK(NotFiniteError("").code() == ExitCode{76});
  CHECK(ConfigError("").code() == ExitCode{78});
  CHECK(static_cast<int>(ExitCode::kRankLost) == 75);
  CHECK(static_cast<int>(ExitCode::kStopped) == 85);
}

TEST_CASE("the recorder tells step and phase by name", "[core]") {
  Recorder recorder;
  CHECK(std::string(phase_name(recorder.phase())) == "start");
  recorder.enter(Phase::kReduce);
  recorder.set_step(12);
  CHECK(std::string(phase_name(recorder.phase())) == "reduce");
  CHECK(recorder.step() == 12);
  CHECK(std::string(phase_name(Phase::kEnd)) == "end");
}
