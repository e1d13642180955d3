// SPDX-License-Identifier: MIT
#include <iostream>

#include "comm/agree.hpp"
#include "commands/command.hpp"

namespace lockstep::commands {
namespace {

void print_models(const session::Extensions& extensions) {
  model::Registry registry;
  if (extensions.models) extensions.models(registry);
  for (const auto& [name, summary] : registry.list()) std::cout << name << "  " << summary << "\n";
}

}  // namespace

ExitCode train(Invocation& invocation) {
  if (std::erase(invocation.words, "--list-models") > 0) {
    if (invocation.leader()) print_models(invocation.context.extensions);
    return ExitCode::kDone;
  }
  session::RunConfig config;
  config::OptionTable table;
  session::describe(table, config);
  std::vector<std::string> arguments;
  if (!read_options(invocation, command_named("train"), table, 0, arguments))
    return ExitCode::kDone;
  session::compare_options(table, invocation.context.communicator);
  session::TrainSession session(config, table, invocation.context);
  if (invocation.leader()) std::cerr << session.start_report() << std::endl;
  if (const auto& nothing = session.nothing_to_do()) {
    if (invocation.leader()) std::cout << *nothing << std::endl;
    return ExitCode::kDone;
  }
  const auto outcome = session.run();
  if (invocation.leader()) std::cout << session.end_report(outcome) << std::endl;
  return outcome.code;
}

}  // namespace lockstep::commands
