// SPDX-License-Identifier: MIT
#define CATCH_CONFIG_RUNNER
#include "support/session.hpp"

#include <iostream>
#include <sstream>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace lockstep::test {
namespace {

CaseListener* g_listener = nullptr;
std::vector<std::function<void()>> g_at_end;

#if __has_include(<catch2/catch_all.hpp>)
using ListenerBase = Catch::EventListenerBase;
constexpr auto kDeclared = Catch::TestRunOrder::Declared;
bool lists_only(const Catch::ConfigData&) { return false; }
#else
using ListenerBase = Catch::TestEventListenerBase;
constexpr auto kDeclared = Catch::RunTests::InDeclarationOrder;
// Version 2 returns the number of lines of a list as if they were failures.
bool lists_only(const Catch::ConfigData& data) {
  return data.listTests || data.listTestNamesOnly || data.listTags || data.listReporters;
}
#endif

// Version 2 keeps the value, version 3 a pointer.
[[maybe_unused]] const Catch::TestCaseInfo& info_of(const Catch::TestCaseInfo& info) {
  return info;
}
[[maybe_unused]] const Catch::TestCaseInfo& info_of(const Catch::TestCaseInfo* info) {
  return *info;
}

class Listener : public ListenerBase {
 public:
  using ListenerBase::ListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    if (g_listener) g_listener->case_begins(info.name);
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (g_listener)
      g_listener->case_ends(info_of(stats.testInfo).name, !stats.totals.testCases.allOk());
  }
};
CATCH_REGISTER_LISTENER(Listener)

int parse(Catch::Session& session, int argc, char** argv, bool quiet) {
  std::ostringstream nowhere;
  auto* const was = quiet ? std::cerr.rdbuf(nowhere.rdbuf()) : std::cerr.rdbuf();
  const int code = session.applyCommandLine(argc, argv);
  std::cerr.rdbuf(was);
  return code;
}

}  // namespace

int run_session(int argc, char** argv, CaseListener* listener, bool quiet) {
  g_listener = listener;
  Catch::Session session;
  if (parse(session, argc, argv, quiet) != 0) return 1;
  session.configData().runOrder = kDeclared;
  session.configData().abortAfter =
      -1;  // a rank that left early would leave the others in the next case
  const int code = session.run();
  g_listener = nullptr;
  constexpr int kAllSkipped = 4;  // Catch2 3 only
  if (code == kAllSkipped && listener == nullptr) return 77;
  return code == 0 || lists_only(session.configData()) ? 0 : 1;
}

void at_end(std::function<void()> work) { g_at_end.push_back(std::move(work)); }

void run_at_end() {
  while (!g_at_end.empty()) {
    const auto work = std::move(g_at_end.back());
    g_at_end.pop_back();
    work();
  }
}

}  // namespace lockstep::test
