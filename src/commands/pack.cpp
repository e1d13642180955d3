// SPDX-License-Identifier: MIT
#include <iostream>
#include <optional>

#include "comm/agree.hpp"
#include "commands/command.hpp"
#include "core/text.hpp"
#include "data/pack.hpp"
#include "metrics/progress.hpp"
#include "metrics/table.hpp"

namespace lockstep::commands {
namespace {

void describe(config::OptionTable& table,
              data::PackOptions& options,
              std::vector<std::string>& class_names) {
  table.group("input");
  table.text("idx-images",
             options.idx_images,
             "FILE",
             "pictures in IDX form (MNIST), plain or gzip");
  table.text("idx-labels", options.idx_labels, "FILE", "their labels in IDX form, plain or gzip");
  table.group("output");
  table.text("out",
             options.out,
             "DIR",
             "folder for the shards and index.json; must be absent or empty");
  table.integer("shards", options.shards, {.min = 1, .max = 99999, .help = "number of files"});
  table.text("split", options.split, "NAME", "what this part is: train, test");
  table.text("name", options.name, "NAME", "shards are called NAME-00000-of-00008.h5");
  table.list("class-name", class_names, "NAME", "name of the next class; repeat it for each");
  table.text("source", options.source, "TEXT", "where the data come from");
  table.text("licence", options.licence, "TEXT", "their licence");
}

std::string numbers(const auto& values) {
  std::string out;
  for (const auto& value : values) out += cat(out.empty() ? "" : ", ", value);
  return out;
}

std::string report(const data::PackOptions& options, const data::PackSummary& summary) {
  metrics::Table table({{""}, {""}});
  const auto rate =
      summary.seconds > 0 ? static_cast<double>(summary.bytes_out) / summary.seconds : 0;
  table.add({"packed",
             cat(options.out,
                 ": ",
                 summary.samples,
                 " samples of [",
                 numbers(summary.sample_shape),
                 "] in ",
                 counted(options.shards, "shard"))});
  table.add({"bytes",
             cat(human_bytes(static_cast<std::uint64_t>(summary.bytes_in)),
                 " in, ",
                 human_bytes(static_cast<std::uint64_t>(summary.bytes_out)),
                 " out, ",
                 human_bytes(static_cast<std::uint64_t>(rate)),
                 "/s")});
  table.add({"per class", numbers(summary.class_counts)});
  table.add({"mean", numbers(summary.channel_mean)});
  table.add({"std", numbers(summary.channel_std)});
  return table.text();
}

}  // namespace

ExitCode pack(Invocation& invocation) {
  data::PackOptions options;
  config::OptionTable table;
  describe(table, options, options.class_names);
  std::vector<std::string> arguments;
  if (!read_options(invocation, command_named("pack"), table, 0, arguments)) return ExitCode::kDone;
  std::string text;
  comm::agree_on(invocation.context.communicator, [&] {
    if (options.idx_images.empty() || options.idx_labels.empty())
      throw UsageError("pack needs --idx-images and --idx-labels");
    if (options.out.empty()) throw UsageError("pack needs --out, the folder for the shards");
    if (!invocation.leader()) return;
    const bool terminal = metrics::look_at(2).is_terminal;
    text = report(options, data::pack_idx(options, [&](std::int64_t done, std::int64_t total) {
                    if (terminal)
                      std::cerr << "\rpacking " << done << " of " << total << " samples"
                                << (done == total ? "\n" : "") << std::flush;
                  }));
  });
  if (invocation.leader()) std::cout << text;
  return ExitCode::kDone;
}

}  // namespace lockstep::commands
