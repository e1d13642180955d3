// SPDX-License-Identifier: MIT
// Sums, maxima and minima.
#include <cmath>
#include <limits>
#include <string>

#include "comm/contract.hpp"
#include "comm/inputs.hpp"
#include "core/digest.hpp"
#include "core/random.hpp"

namespace lockstep::test {
namespace {

using comm::BFloat16;
using comm::Op;

template <class T>
void check_all_reduce(Probe& probe, const char* type) {
  auto& c = probe.communicator;
  for (const Op op : {Op::kSum, Op::kMax, Op::kMin}) {
    if (std::is_same_v<T, BFloat16> && op != Op::kSum) continue;
    for (const std::size_t n : kSizes) {
      auto data = inputs<T>(n, c.rank());
      c.all_reduce(std::span(data), op);
      std::size_t bad = 0;
      for (std::size_t i = 0; i < n; ++i)
        bad += equal(data[i], make<T>(expected(i, c.ranks(), op))) ? 0 : 1;
      probe.expect(bad == 0,
                   type,
                   " op ",
                   static_cast<int>(op),
                   " size ",
                   n,
                   ": ",
                   bad,
                   " elements are wrong");
    }
  }
}

void all_reduce(Probe& probe) {
  check_all_reduce<std::int32_t>(probe, "int32");
  check_all_reduce<std::int64_t>(probe, "int64");
  check_all_reduce<std::uint64_t>(probe, "uint64");
  check_all_reduce<float>(probe, "float");
  check_all_reduce<double>(probe, "double");
  check_all_reduce<BFloat16>(probe, "bf16");
}

void all_reduce_of_one_value(Probe& probe) {
  auto& c = probe.communicator;
  probe.expect(c.all_reduce(std::int64_t{1} << 40, Op::kSum) == (std::int64_t{1} << 40) * c.ranks(),
               "beyond 32 bits");
  probe.expect(c.all_reduce(-1.0 - c.rank(), Op::kMax) == -1.0, "maximum of negative numbers");
  probe.expect(
      c.all_reduce(std::numeric_limits<std::uint64_t>::max() - static_cast<std::uint64_t>(c.rank()),
                   Op::kMax) == std::numeric_limits<std::uint64_t>::max(),
      "uint64 is unsigned");
}

// Rounding differs with the order of additions: all ranks must still get the same bits.
void all_reduce_same_bits(Probe& probe) {
  auto& c = probe.communicator;
  std::vector<float> data(100'003);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<float>(
        random_uniform(static_cast<std::uint64_t>(c.rank()), Purpose::kTest, i) * 1e3 - 500);
  }
  c.all_reduce(std::span(data), Op::kSum);
  const auto digests = c.all_gather(digest(std::as_bytes(std::span<const float>(data))));
  for (const auto d : digests) probe.expect(d == digests[0], "other bits than rank 0");
}

// One and R-1 times half a unit in the last place: rounding after each addition would lose all of
// them.
void bf16_is_rounded_once(Probe& probe) {
  auto& c = probe.communicator;
  constexpr std::uint16_t kOne = 0x3F80, kHalfUnit = 0x3B80;
  std::vector<BFloat16> data(5, BFloat16{c.rank() == 0 ? kOne : kHalfUnit});
  c.all_reduce(std::span(data), Op::kSum);
  const int halves = c.ranks() - 1;
  const int units = halves % 2 == 0 ? halves / 2 : (halves / 2 + (halves / 2) % 2);  // ties to even
  for (const auto value : data) {
    probe.expect(value.bits == kOne + units, "bits ", value.bits, " instead of ", kOne + units);
  }
}

void bf16_keeps_what_is_not_finite(Probe& probe) {
  auto& c = probe.communicator;
  constexpr std::uint16_t kInf = 0x7F80, kAlmostInfNan = 0x7F81, kLargest = 0x7F7F;
  std::vector<BFloat16> data = {{kInf}, {kAlmostInfNan}, {kLargest}};
  c.all_reduce(std::span(data), Op::kSum);
  probe.expect(data[0].bits == kInf, "infinity became ", data[0].bits);
  probe.expect((data[1].bits & 0x7F80) == 0x7F80 && (data[1].bits & 0x7F) != 0,
               "not-a-number became ",
               data[1].bits);
  probe.expect(data[2].bits == (c.ranks() == 1 ? kLargest : kInf),
               "an overflow became ",
               data[2].bits);
}

void reduce_scatter(Probe& probe) {
  auto& c = probe.communicator;
  for (const std::size_t n :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{300'001}}) {
    const auto total = n * static_cast<std::size_t>(c.ranks());
    auto all = inputs<float>(total, c.rank());
    std::vector<float> mine(n, -1);
    c.reduce_scatter(std::span(all), std::span(mine));
    std::size_t bad = 0;
    for (std::size_t i = 0; i < n; ++i) {
      bad +=
          mine[i] == static_cast<float>(
                         expected(n * static_cast<std::size_t>(c.rank()) + i, c.ranks(), Op::kSum))
              ? 0
              : 1;
    }
    probe.expect(bad == 0, "size ", n, ": ", bad, " elements are wrong");
  }
  std::vector<float> all(static_cast<std::size_t>(2 * c.ranks()) + 1), mine(2);
  probe.expect_error(ExitCode::kInternal, "mine 2", [&] {
    c.reduce_scatter(std::span(all), std::span(mine));
  });
  c.barrier();  // a refused call leaves the group as it was
}

}  // namespace

std::vector<ContractCase> reduce_cases() {
  return {{"all_reduce", all_reduce},
          {"all_reduce of one value", all_reduce_of_one_value},
          {"all_reduce gives the same bits everywhere", all_reduce_same_bits},
          {"bf16 sums are rounded once", bf16_is_rounded_once},
          {"bf16 keeps what is not finite", bf16_keeps_what_is_not_finite},
          {"reduce_scatter", reduce_scatter}};
}

}  // namespace lockstep::test
