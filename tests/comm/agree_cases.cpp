// SPDX-License-Identifier: MIT
// After a local step that can fail all ranks throw the same error, or none does.
#include <stdexcept>

#include "comm/agree.hpp"
#include "comm/contract.hpp"

namespace lockstep::test {
namespace {

/// The text as all ranks must see it: with the guilty rank in front where there are several.
std::string blamed(const Probe& probe, int rank, const std::string& text) {
  return probe.communicator.ranks() > 1 ? cat("[rank ", rank, "] ", text) : text;
}

/// All ranks throw an Error with exactly this text.
void expect_agreed(Probe& probe,
                   ExitCode code,
                   const std::string& text,
                   const std::function<void()>& step) {
  std::string got = "nothing";
  try {
    comm::agree_on(probe.communicator, step);
  } catch (const Error& error) {
    got = error.what();
    probe.expect(error.code() == code, "code ", static_cast<int>(error.code()));
  }
  probe.expect(got == text, "'", got, "' instead of '", text, "'");
}

void nobody_fails(Probe& probe) {
  int runs = 0;
  comm::agree_on(probe.communicator, [&] { ++runs; });
  probe.expect(runs == 1, "the step ran ", runs, " times");
}

void each_rank_in_turn(Probe& probe) {
  auto& c = probe.communicator;
  for (int guilty = 0; guilty < c.ranks(); ++guilty) {
    const std::string text = cat("shard-", guilty, ".h5: truncated");
    expect_agreed(probe, ExitCode::kBadData, blamed(probe, guilty, text), [&] {
      if (c.rank() == guilty) throw DataError(text);
    });
  }
}

void the_lowest_of_several(Probe& probe) {
  auto& c = probe.communicator;
  const int lowest = c.ranks() > 1 ? 1 : 0;
  expect_agreed(probe, ExitCode::kIo, blamed(probe, lowest, cat("disk of ", lowest)), [&] {
    if (c.rank() >= lowest) throw IoError(cat("disk of ", c.rank()));
  });
}

void foreign_exceptions(Probe& probe) {
  auto& c = probe.communicator;
  const int last = c.ranks() - 1;
  expect_agreed(probe, ExitCode::kInternal, blamed(probe, last, "from a library"), [&] {
    if (c.rank() == last) throw std::runtime_error("from a library");
  });
  bool thrown = false;
  try {
    comm::agree_on(c, [&] {
      if (c.rank() == last) throw 42;
    });
  } catch (const Error& error) {
    thrown = error.code() == ExitCode::kInternal;
  }
  probe.expect(thrown, "an int that was thrown");
}

void long_texts(Probe& probe) {
  auto& c = probe.communicator;
  const std::string text(100'000, 'x');
  expect_agreed(probe, ExitCode::kConfig, blamed(probe, 0, text), [&] {
    if (c.rank() == 0) throw ConfigError(text);
  });
}

void equal_values(Probe& probe) {
  auto& c = probe.communicator;
  comm::agree_equal(c, 7, "options");
  if (c.ranks() < 3) return;
  probe.expect_error(ExitCode::kConfig, "options differ between ranks", [&] {
    comm::agree_equal(c, c.rank() == 1 ? 8 : 7, "options");
  });
  probe.expect_error(ExitCode::kConfig, c.ranks() == 3 ? "ranks 0,2 have" : "ranks 0,2,3", [&] {
    comm::agree_equal(c, c.rank() == 1 ? 8 : 7, "options");
  });
  probe.expect_error(ExitCode::kConfig, "ranks 1 have 0000000000000008", [&] {
    comm::agree_equal(c, c.rank() == 1 ? 8 : 7, "options");
  });
  probe.expect(c.all_reduce(std::int32_t{1}, comm::Op::kSum) == c.ranks(),
               "the group works after a disagreement");
}

}  // namespace

std::vector<ContractCase> agree_cases() {
  return {{"nobody fails", nobody_fails},
          {"each rank fails in turn", each_rank_in_turn},
          {"the lowest of several is blamed", the_lowest_of_several},
          {"foreign exceptions become internal errors", foreign_exceptions},
          {"long texts arrive whole", long_texts},
          {"unequal values name the ranks", equal_values}};
}

}  // namespace lockstep::test
