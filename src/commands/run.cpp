// SPDX-License-Identifier: MIT
#include "commands/run.hpp"

#include <algorithm>
#include <iostream>

#include "comm/agree.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "commands/command.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "io/hdf5.hpp"

namespace lockstep {
namespace commands {

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = {
      {"train", "train [options]", "trains a model; what runs when no command is named", train},
      {"eval", "eval --checkpoint F --data D", "evaluates a checkpoint; prints a JSON row", eval},
      {"pack",
       "pack --idx-images F --idx-labels F --out DIR",
       "makes HDF5 shards from files",
       pack},
      {"info", "info PATH", "shows a data set, a shard, a checkpoint or a run", info},
      {"bench", "bench startup", "measures on this machine; prints JSON lines", bench},
  };
  return commands;
}

const Command& command_named(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& command : all_commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  const auto close = nearest(name, names);
  throw UsageError(cat("unknown command '",
                       name,
                       "'; ",
                       close.empty() ? "" : cat("did you mean ", join(close, ", "), "? "),
                       "the commands are ",
                       join(names, ", ")));
}

namespace {

std::string overview() {
  std::string text =
      "trainer: distributed training on LibTorch, MPI and parallel HDF5\n\nusage: [mpirun -np N] "
      "trainer [command] [options]\n\n";
  for (const auto& command : all_commands()) {
    auto left = cat("  ", command.usage);
    left.resize(std::max<std::size_t>(48, left.size() + 2), ' ');
    text += cat(left, command.summary, "\n");
  }
  return text +
         "\n`trainer COMMAND --help` lists a command's options; --version says what this build "
         "consists of.\n";
}

}  // namespace

bool read_options(Invocation& invocation,
                  const Command& command,
                  config::OptionTable& table,
                  std::size_t most_arguments,
                  std::vector<std::string>& arguments) {
  const auto asks = [&](const char* word) {
    return std::find(invocation.words.begin(), invocation.words.end(), word) !=
           invocation.words.end();
  };
  if (asks("--help") || asks("-h")) {
    if (invocation.leader()) {
      if (command.name == "train") std::cout << overview() << "\n";
      std::cout << "usage: trainer " << command.usage << "\n  " << command.summary << "\n"
                << table.help();
      if (!table.options().empty()) {
        std::cout << "\nAn option may also come from the environment (LOCKSTEP_BATCH_SIZE=96) or "
                     "from the file of\n--config FILE (batch-size = 96); the command line wins. "
                     "--print-config prints such a file.\n";
      }
    }
    return false;
  }
  const bool print = std::erase(invocation.words, "--print-config") > 0;
  std::vector<std::string> warnings;
  comm::agree_on(invocation.context.communicator, [&] {
    arguments = table.parse(invocation.words, warnings);
    if (arguments.size() > most_arguments) {
      throw UsageError(cat("'",
                           arguments[most_arguments],
                           "' is one word too many; usage: trainer ",
                           command.usage));
    }
  });
  if (invocation.leader()) {
    for (const auto& warning : warnings) log::warn(warning);
    if (print) std::cout << table.print();
  }
  return !print;
}

}  // namespace commands

namespace {

// The first word is the command unless it is an option.
ExitCode dispatch(std::vector<std::string> words, session::Context context) {
  if (!words.empty() && words[0] == "help") words[0] = "--help";
  if (!words.empty() && words[0] == "--version") {
    if (context.communicator.rank() == 0) std::cout << commands::version_text();
    return ExitCode::kDone;
  }
  const commands::Command* command = nullptr;
  comm::agree_on(context.communicator, [&] {
    const auto contradiction = launch::launcher_contradiction(context.communicator.ranks());
    if (!contradiction.empty()) {
      throw UsageError(cat("the launcher started more ranks (",
                           contradiction,
                           ") than MPI sees (",
                           context.communicator.ranks(),
                           "): each process would train alone. Use the mpirun that belongs to ",
                           launch::Runtime::mpi_version(),
                           ", or srun --mpi=pmix"));
    }
    command =
        &commands::command_named(words.empty() || words[0].starts_with("-") ? "train" : words[0]);
  });
  if (!words.empty() && words[0] == command->name) words.erase(words.begin());
  commands::Invocation invocation{std::move(words), context};
  return command->run(invocation);
}

}  // namespace

int run(int argc, char** argv, const Extensions& extensions) {
  const auto runtime = extensions.communicator == MPI_COMM_NULL
                           ? std::make_unique<launch::Runtime>()
                           : std::make_unique<launch::Runtime>(extensions.communicator);
  const auto world = comm::make_mpi_communicator(runtime->world());
  log::set_rank(world->rank());
  Recorder recorder;
  try {
    io::start_hdf5();
    return static_cast<int>(
        dispatch({argv + 1, argv + argc}, {*runtime, *world, recorder, extensions}));
  } catch (const comm::AgreedError& e) {
    if (world->rank() == 0) log::error(e.what());
    world->barrier();  // nobody leaves before the message is out: a launcher kills the others when
                       // the first one goes
    return static_cast<int>(e.code());
  } catch (...) {
    const auto failure = comm::describe_failure(std::current_exception());
    log::error(cat(world->ranks() > 1 && world->rank() == 0 ? "[rank 0] " : "",
                   recorder.step() > 0
                       ? cat("step ", recorder.step(), ", ", phase_name(recorder.phase()), ": ")
                       : "",
                   failure.text));
    world->abort(failure.code);
    return static_cast<int>(failure.code);
  }
}

}  // namespace lockstep
