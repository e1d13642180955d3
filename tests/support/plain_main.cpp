// SPDX-License-Identifier: MIT
// The main of tests without MPI.
#include "support/session.hpp"

int main(int argc, char** argv) {
  const int code = lockstep::test::run_session(argc, argv, nullptr, false);
  lockstep::test::run_at_end();
  return code;
}
