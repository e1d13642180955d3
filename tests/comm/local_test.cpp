// SPDX-License-Identifier: MIT
// The contract over threads of one process, and what only that transport promises.
#include "comm/local/local_group.hpp"

#include <chrono>
#include <thread>

#include "comm/contract.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

/// Runs `work` on each rank of a group, a thread each; returns everything that was wrong.
std::vector<std::string> on_ranks(int ranks, const std::function<void(Probe&)>& work) {
  const auto group = comm::make_local_group(ranks);
  std::vector<std::vector<std::string>> wrong(group.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < group.size(); ++r) {
    threads.emplace_back([&, r] {
      Probe probe{*group[r], {}};
      try {
        work(probe);
      } catch (const std::exception& error) {
        probe.expect(false, "unexpected: ", error.what());
        group[r]->barrier();  // never reached by the others: ctest's time limit names this test
      }
      wrong[r] = std::move(probe.wrong);
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<std::string> all;
  for (const auto& some : wrong) all.insert(all.end(), some.begin(), some.end());
  return all;
}

void run(const std::vector<ContractCase>& cases) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const auto& one : cases) {
      CAPTURE(ranks, one.name);
      CHECK(join(on_ranks(ranks, one.run), "\n") == "");
    }
  }
}

/// Rank 0 aborts while the others are inside `wait`; all later calls fail too.
std::vector<std::string> abort_during(const std::function<void(comm::Communicator&)>& wait) {
  return on_ranks(3, [&](Probe& probe) {
    auto& c = probe.communicator;
    const auto other = c.duplicate();
    if (c.rank() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      probe.expect_error(ExitCode::kInternal, "rank 0 aborted the group with code 75", [&] {
        c.abort(ExitCode::kRankLost);
      });
    } else {
      probe.expect_error(ExitCode::kInternal, "rank 0 aborted the group with code 75", [&] {
        wait(c);
      });
    }
    probe.expect_error(ExitCode::kInternal, "rank 0 aborted", [&] { c.barrier(); });
    probe.expect_error(ExitCode::kInternal, "rank 0 aborted", [&] { other->barrier(); });
  });
}

}  // namespace

TEST_CASE("the local transport reduces as the contract says", "[comm]") { run(reduce_cases()); }

TEST_CASE("the local transport moves data as the contract says", "[comm]") { run(move_cases()); }

TEST_CASE("ranks agree on failures in one process", "[comm][L01]") { run(agree_cases()); }

TEST_CASE("an abort wakes whoever waits", "[comm]") {
  CHECK(join(abort_during([](comm::Communicator& c) { c.barrier(); }), "\n") == "");
  CHECK(join(abort_during([](comm::Communicator& c) { c.all_reduce(1.0, comm::Op::kSum); }),
             "\n") == "");
  CHECK(join(abort_during([](comm::Communicator& c) {
               std::int32_t value = 0;
               c.receive(std::span(&value, 1), 0);
             }),
             "\n") == "");
}

TEST_CASE("ranks that bring unlike sizes are told so, all of them", "[comm]") {
  const auto wrong = on_ranks(3, [](Probe& probe) {
    auto& c = probe.communicator;
    std::vector<float> data(c.rank() == 1 ? 5 : 4);
    probe.expect_error(ExitCode::kInternal, "5", [&] {
      c.all_reduce(std::span(data), comm::Op::kSum);
    });
  });
  CHECK(join(wrong, "\n") == "");
}

TEST_CASE("groups do not hear each other", "[comm]") {
  const auto a = comm::make_local_group(1);
  const auto b = comm::make_local_group(1);
  CHECK_THROWS_AS(a[0]->abort(ExitCode::kRankLost), InternalError);
  CHECK_NOTHROW(b[0]->barrier());
}
