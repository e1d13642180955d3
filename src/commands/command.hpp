// SPDX-License-Identifier: MIT
// A subcommand: parses its words, calls a room, prints. One file each.
#pragma once

#include <string>
#include <vector>

#include "config/option_table.hpp"
#include "session/session.hpp"

namespace lockstep::commands {

/// What a command gets: the words behind its name and the world it runs in.
struct Invocation {
  std::vector<std::string> words;
  session::Context context;
  bool leader() const { return context.communicator.rank() == 0; }
};

struct Command {
  std::string name;
  std::string usage;    ///< "pack --idx-images F --idx-labels F --out DIR"
  std::string summary;  ///< one clause
  ExitCode (*run)(Invocation&);
};

ExitCode train(Invocation& invocation);
ExitCode eval(Invocation& invocation);
ExitCode pack(Invocation& invocation);
ExitCode info(Invocation& invocation);
ExitCode bench(Invocation& invocation);

/// Reads the words into the table on all ranks alike; prints warnings once. Handles --help and
/// --print-config: then it prints on rank 0 and returns false, and the command is done.
/// `arguments`: the words that are no options, at most `most_arguments`. Throws AgreedError.
/// Collective.
bool read_options(Invocation& invocation,
                  const Command& command,
                  config::OptionTable& table,
                  std::size_t most_arguments,
                  std::vector<std::string>& arguments);

const std::vector<Command>& all_commands();
const Command& command_named(const std::string& name);

/// What --version prints: this build, every library, features.
std::string version_text();

}  // namespace lockstep::commands
