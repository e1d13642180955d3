// SPDX-License-Identifier: MIT
// The main of tests of several ranks. Every rank runs every test case; rank 0 prints for all; the
// exit code is the same on all ranks. Ranks other than 0 print into a buffer, of which rank 0 shows
// what belongs to failures.
#include <mpi.h>

#include <iostream>
#include <sstream>

#include "support/meeting.hpp"
#include "support/session.hpp"
#include "support/watchdog.hpp"

namespace lockstep::test {
namespace {

class Ranks : public CaseListener {
 public:
  Ranks(Meeting& meeting, Watchdog& watchdog, std::ostringstream& printed)
      : meeting_(meeting), watchdog_(watchdog), printed_(printed) {}

  void case_begins(const std::string& name) override { watchdog_.enter(name); }
  void case_ends(const std::string& name, bool failed) override {
    watchdog_.enter("");  // the meeting has a time limit of its own
    meeting_.meet({name, failed, printed_.str()});
    printed_.str("");
  }

 private:
  Meeting& meeting_;
  Watchdog& watchdog_;
  std::ostringstream& printed_;
};

int run(int argc, char** argv) {
  Meeting meeting(MPI_COMM_WORLD);
  Watchdog watchdog(meeting.rank(), meeting.ranks());
  std::ostringstream printed;
  auto* const was = meeting.rank() == 0 ? std::cout.rdbuf() : std::cout.rdbuf(printed.rdbuf());
  Ranks ranks(meeting, watchdog, printed);
  int code = run_session(argc, argv, &ranks, meeting.rank() != 0);
  watchdog.enter("the end of the test program");
  MPI_Allreduce(MPI_IN_PLACE, &code, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  run_at_end();
  std::cout.rdbuf(was);
  if (meeting.rank() == 0 && !meeting.failed_ranks().empty()) {
    std::cout << "failures on ranks:";
    for (const int r : meeting.failed_ranks()) std::cout << ' ' << r;
    std::cout << " (one entry a test case)\n";
  }
  watchdog.enter("");
  return code;
}

}  // namespace
}  // namespace lockstep::test

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int code = 70;
  if (provided == MPI_THREAD_MULTIPLE) {
    code = lockstep::test::run(argc, argv);
  } else {
    std::cerr << "these tests need MPI_THREAD_MULTIPLE; this MPI gives level " << provided << '\n';
  }
  MPI_Finalize();
  return code;
}
