// SPDX-License-Identifier: MIT
#include "launch/signals.hpp"

#include <csignal>

#include "support/catch.hpp"

using namespace lockstep::launch;

TEST_CASE("signals set a request and end nothing", "[launch][L06]") {
  const SignalScope scope;
  CHECK(pending_signal() == SignalRequest::kNone);
  std::raise(SIGUSR2);
  CHECK(pending_signal() == SignalRequest::kSave);
  std::raise(SIGUSR1);
  CHECK(pending_signal() == SignalRequest::kSaveAndStop);
  std::raise(SIGTERM);
  CHECK(pending_signal() == SignalRequest::kStop);
}

TEST_CASE("the strongest of several requests wins, in whatever order they came", "[launch][L06]") {
  const SignalScope scope;
  std::raise(SIGINT);
  std::raise(SIGUSR1);
  std::raise(SIGUSR2);
  CHECK(pending_signal() == SignalRequest::kStop);
}

TEST_CASE("a save that was carried out is forgotten, a stop is not", "[launch]") {
  const SignalScope scope;
  std::raise(SIGUSR2);
  clear_save_request();
  CHECK(pending_signal() == SignalRequest::kNone);
  std::raise(SIGUSR1);
  clear_save_request();
  CHECK(pending_signal() == SignalRequest::kSaveAndStop);
}

TEST_CASE("a new scope begins without requests, and the handlers before it come back", "[launch]") {
  const auto before = std::signal(SIGUSR1, SIG_IGN);
  {
    const SignalScope scope;
    std::raise(SIGUSR1);
    CHECK(pending_signal() == SignalRequest::kSaveAndStop);
  }
  std::raise(SIGUSR1);  // ignored again: this process goes on
  CHECK(std::signal(SIGUSR1, before) == SIG_IGN);
  const SignalScope scope;
  CHECK(pending_signal() == SignalRequest::kNone);
}
