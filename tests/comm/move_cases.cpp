// SPDX-License-Identifier: MIT
// What moves data without changing it, and who waits for whom.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "comm/contract.hpp"
#include "comm/inputs.hpp"
#include "core/clock.hpp"

namespace lockstep::test {
namespace {

using comm::Op;

void broadcast(Probe& probe) {
  auto& c = probe.communicator;
  for (int root = 0; root < c.ranks(); ++root) {
    for (const std::size_t n : kSizes) {
      auto data = inputs<double>(n, c.rank());
      c.broadcast(std::span(data), root);
      probe.expect(data == inputs<double>(n, root), "root ", root, ", size ", n);
    }
    std::vector<std::byte> bytes(3, std::byte(c.rank()));
    c.broadcast(std::span(bytes), root);
    probe.expect(bytes == std::vector<std::byte>(3, std::byte(root)), "bytes of root ", root);
  }
}

void all_gather(Probe& probe) {
  auto& c = probe.communicator;
  for (const std::size_t n : kSizes) {
    const auto mine = inputs<float>(n, c.rank());
    std::vector<float> all(n * static_cast<std::size_t>(c.ranks()));
    c.all_gather(std::span<const float>(mine), std::span(all));
    for (int r = 0; r < c.ranks(); ++r) {
      const auto part = all.begin() + static_cast<std::ptrdiff_t>(n) * r;
      probe.expect(
          std::equal(part, part + static_cast<std::ptrdiff_t>(n), inputs<float>(n, r).begin()),
          "size ",
          n,
          ", rank ",
          r);
    }
  }
  const auto values = c.all_gather(std::int32_t{c.rank() * 10});
  for (int r = 0; r < c.ranks(); ++r)
    probe.expect(values[static_cast<std::size_t>(r)] == r * 10, "value of rank ", r);
  std::vector<float> uneven(static_cast<std::size_t>(c.ranks()) + 1);
  const std::vector<float> one(1);
  probe.expect_error(ExitCode::kInternal, "mine 1", [&] {
    c.all_gather(std::span<const float>(one), std::span(uneven));
  });
}

std::string text_of(int rank) {
  return rank == 1 ? std::string()
                   : std::string(static_cast<std::size_t>(rank * 50'000 + 3),
                                 static_cast<char>('a' + rank));
}

void texts(Probe& probe) {
  auto& c = probe.communicator;
  const auto all = c.all_gather(text_of(c.rank()));
  probe.expect(all.size() == static_cast<std::size_t>(c.ranks()), all.size(), " texts");
  for (int r = 0; r < c.ranks(); ++r) {
    probe.expect(all[static_cast<std::size_t>(r)] == text_of(r), "text of rank ", r);
    probe.expect(c.broadcast(text_of(c.rank()), r) == text_of(r), "text from root ", r);
  }
}

void send_and_receive(Probe& probe) {
  auto& c = probe.communicator;
  if (c.ranks() == 1) return;
  const int next = (c.rank() + 1) % c.ranks(), before = (c.rank() + c.ranks() - 1) % c.ranks();
  for (const std::size_t n : kSizes) {
    const auto mine = inputs<std::int64_t>(n, c.rank());
    std::vector<std::int64_t> got(n);
    // Both sides block: rank 0 begins to send, the others begin to receive.
    if (c.rank() == 0) c.send(std::span<const std::int64_t>(mine), next);
    c.receive(std::span(got), before);
    if (c.rank() != 0) c.send(std::span<const std::int64_t>(mine), next);
    probe.expect(got == inputs<std::int64_t>(n, before), "size ", n);
  }
  for (std::int32_t k = 0; k < 10; ++k) {  // in the order in which they were sent
    if (c.rank() == 0) c.send(std::span<const std::int32_t>(&k, 1), 1);
    std::int32_t got = -1;
    if (c.rank() == 1) c.receive(std::span(&got, 1), 0);
    probe.expect(c.rank() != 1 || got == k, "message ", k, " was ", got);
  }
}

void duplicate_is_independent(Probe& probe) {
  auto& c = probe.communicator;
  const auto other = c.duplicate();
  probe.expect(other->rank() == c.rank() && other->ranks() == c.ranks(), "same ranks");
  if (c.ranks() > 1) {  // sent on the one first, received on the other first
    std::int32_t first = 1, second = 2, got1 = 0, got2 = 0;
    if (c.rank() == 0) {
      other->send(std::span<const std::int32_t>(&first, 1), 1);
      c.send(std::span<const std::int32_t>(&second, 1), 1);
    } else if (c.rank() == 1) {
      c.receive(std::span(&got2, 1), 0);
      other->receive(std::span(&got1, 1), 0);
      probe.expect(got1 == 1 && got2 == 2, "messages crossed: ", got1, " ", got2);
    }
  }
  // A second thread reduces on the duplicate while this one does on the original, in no agreed
  // order.
  std::vector<double> a(10'000, 1), b(10'000, 2);
  std::thread second([&] {
    for (int i = 0; i < 20; ++i) other->all_reduce(std::span(b), Op::kMax);
  });
  for (int i = 0; i < 20; ++i) c.all_reduce(std::span(a), Op::kMax);
  second.join();
  probe.expect(a == std::vector<double>(10'000, 1) && b == std::vector<double>(10'000, 2),
               "two threads");
}

void barrier_waits_for_all(Probe& probe) {
  auto& c = probe.communicator;
  if (c.rank() == c.ranks() - 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double entered = monotonic_seconds();
  c.barrier();
  const double left = monotonic_seconds();
  const double last = c.all_reduce(entered, Op::kMax);
  probe.expect(left >= last, "left ", last - left, " s before the last one came");
}

}  // namespace

void Probe::expect_error(ExitCode code,
                         const std::string& part,
                         const std::function<void()>& work) {
  try {
    work();
    expect(false, "no error with '", part, "'");
  } catch (const Error& error) {
    expect(error.code() == code,
           "code ",
           static_cast<int>(error.code()),
           " instead of ",
           static_cast<int>(code));
    expect(std::string(error.what()).find(part) != std::string::npos,
           "'",
           part,
           "' is not in: ",
           error.what());
  }
}

std::vector<ContractCase> move_cases() {
  return {{"broadcast", broadcast},
          {"all_gather", all_gather},
          {"texts of unlike lengths", texts},
          {"send and receive", send_and_receive},
          {"a duplicate is independent", duplicate_is_independent},
          {"a barrier waits for all", barrier_waits_for_all}};
}

}  // namespace lockstep::test
