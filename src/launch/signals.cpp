// SPDX-License-Identifier: MIT
#include "launch/signals.hpp"

#include <array>
#include <atomic>
#include <csignal>

namespace lockstep::launch {
namespace {

// The only state that a handler may touch. Lock-free, so async-signal-safe.
std::atomic<int> request{0};
static_assert(std::atomic<int>::is_always_lock_free);

constexpr std::array kSignals = {SIGUSR1, SIGUSR2, SIGTERM, SIGINT};
std::array<struct sigaction, kSignals.size()> previous;

void on_signal(int number) {
  const int wanted = static_cast<int>(number == SIGUSR2   ? SignalRequest::kSave
                                      : number == SIGUSR1 ? SignalRequest::kSaveAndStop
                                                          : SignalRequest::kStop);
  int seen = request.load();
  while (seen < wanted && !request.compare_exchange_weak(seen, wanted)) {
  }
}

}  // namespace

SignalScope::SignalScope() {
  request = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &previous[i]);
}

SignalScope::~SignalScope() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous[i], nullptr);
}

SignalRequest pending_signal() { return static_cast<SignalRequest>(request.load()); }

void clear_save_request() {
  int save = static_cast<int>(SignalRequest::kSave);
  request.compare_exchange_strong(save, 0);
}

}  // namespace lockstep::launch
