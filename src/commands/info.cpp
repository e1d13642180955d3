// SPDX-License-Identifier: MIT
#include <filesystem>
#include <iostream>

#include "checkpoint/checkpoint.hpp"
#include "comm/agree.hpp"
#include "commands/command.hpp"
#include "core/text.hpp"
#include "data/dataset.hpp"
#include "io/file.hpp"
#include "metrics/table.hpp"

namespace lockstep::commands {
namespace {

using metrics::Align;

std::string shape_of(const std::vector<std::int64_t>& shape) {
  std::string out;
  for (const auto d : shape) out += cat(out.empty() ? "" : "x", d);
  return out.empty() ? "-" : out;
}

std::string data_set_text(const data::DataSet& set) {
  std::string out = cat(set.path,
                        ": ",
                        set.samples,
                        " samples of ",
                        shape_of(set.sample_shape),
                        " ",
                        set.input_dtype,
                        ", ",
                        set.num_classes,
                        " classes, split '",
                        set.split,
                        "'\n");
  metrics::Table table({{"shard"},
                        {"samples", Align::kRight},
                        {"first id", Align::kRight},
                        {"bytes", Align::kRight},
                        {"digest"}});
  for (const auto& shard : set.shards) {
    table.add({io::name_of(shard.path),
               cat(shard.samples),
               cat(shard.first_id),
               cat(shard.file_bytes),
               shard.digest.empty() ? "-" : shard.digest});
  }
  return out + table.text("  ");
}

std::string checkpoint_text(const std::string& path, bool unverified) {
  std::string out = cat(path,
                        unverified ? ": not verified, it has no manifest beside it\n"
                                   : ": verified against its manifest\n");
  metrics::Table scalars({{"scalar"}, {"value"}});
  const auto values = checkpoint::read_scalars(path);
  for (const auto& [name, value] : values) {
    scalars.add({"/" + name, std::visit([](const auto& v) { return cat(v); }, value)});
  }
  metrics::Table tensors({{"tensor"}, {"type"}, {"shape"}, {"bytes", Align::kRight}});
  std::int64_t bytes = 0;
  for (const auto& entry : checkpoint::list(path)) {
    if (values.contains(entry.name)) continue;
    tensors.add({"/" + entry.name, entry.dtype, entry.shape, cat(entry.bytes)});
    bytes += entry.bytes;
  }
  return cat(out,
             scalars.text("  "),
             "\n",
             tensors.text("  "),
             "\n  ",
             human_bytes(static_cast<std::uint64_t>(bytes)),
             " of tensors\n");
}

}  // namespace

ExitCode info(Invocation& invocation) {
  config::OptionTable table;
  std::vector<std::string> arguments;
  if (!read_options(invocation, command_named("info"), table, 1, arguments)) return ExitCode::kDone;
  auto& communicator = invocation.context.communicator;
  bool is_checkpoint = false;
  bool is_run = false;
  comm::agree_on(communicator, [&] {
    if (arguments.empty())
      throw UsageError("info needs the path of a data set, a shard, a checkpoint or a run folder");
    is_run = std::filesystem::is_directory(arguments[0] + "/checkpoints");
    is_checkpoint =
        std::filesystem::is_regular_file(arguments[0]) && checkpoint::is_checkpoint(arguments[0]);
  });
  if (is_run) {
    const auto found = checkpoint::find_newest(arguments[0] + "/checkpoints", communicator);
    comm::agree_on(communicator, [&] {
      if (found.path.empty())
        throw MissingInputError(cat(arguments[0], ": no checkpoint in this run folder"));
    });
    arguments[0] = found.path;
    is_checkpoint = true;
  }
  std::string text;
  if (is_checkpoint) {
    const auto verified = checkpoint::verify(arguments[0], communicator);
    comm::agree_on(communicator,
                   [&] { text = checkpoint_text(arguments[0], verified.unverified); });
  } else {
    text = data_set_text(data::open_data_set(arguments[0], communicator));
  }
  if (invocation.leader()) std::cout << text;
  return ExitCode::kDone;
}

}  // namespace lockstep::commands
