// SPDX-License-Identifier: MIT
#include "commands/run.hpp"

int main(int argc, char** argv) { return lockstep::run(argc, argv); }
