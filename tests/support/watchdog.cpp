// SPDX-License-Identifier: MIT
#include "support/watchdog.hpp"

#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace lockstep::test {

double test_limit_s() {
  const char* const text = std::getenv("LOCKSTEP_TEST_LIMIT_S");
  const double value = text ? std::atof(text) : 0;
  return value > 0 ? value : 60;
}

std::string who(int rank, int ranks) {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  std::ostringstream out;
  out << "rank " << rank << " of " << ranks << ", host " << host << ", pid " << getpid();
  return out.str();
}

void end_job(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::fflush(nullptr);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  MPI_Abort(MPI_COMM_WORLD, 75);
  std::_Exit(75);
}

Watchdog::Watchdog(int rank, int ranks) : who_(who(rank, ranks)), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Watchdog::enter(const std::string& place) {
  {
    const std::lock_guard lock(mutex_);
    place_ = place;
    ++entries_;
  }
  changed_.notify_one();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const long seen = entries_;
    const auto limit = std::chrono::duration<double>(test_limit_s());
    const bool moved = changed_.wait_for(lock, limit, [&] { return stop_ || entries_ != seen; });
    if (!moved && !place_.empty()) {
      std::ostringstream out;
      out << "[watchdog] " << who_ << ": still in '" << place_ << "' after " << limit.count()
          << " s";
      end_job(out.str());
    }
  }
}

}  // namespace lockstep::test
