// SPDX-License-Identifier: MIT
#include "session/start_report.hpp"

#include "core/text.hpp"
#include "core/version.hpp"
#include "metrics/table.hpp"

namespace lockstep::session {
namespace {

std::string data_text(const data::DataSet& set) {
  std::string shape;
  for (const auto d : set.sample_shape) shape += cat(shape.empty() ? "" : "x", d);
  return cat(set.path,
             ": ",
             grouped(set.samples),
             " samples of ",
             shape,
             " ",
             set.input_dtype,
             " in ",
             counted(static_cast<std::int64_t>(set.shards.size()), "shard"),
             ", ",
             set.num_classes,
             " classes");
}

}  // namespace

std::string grouped(std::int64_t value) {
  auto text = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

std::string start_report(const StartFacts& facts) {
  metrics::Table about({{""}, {""}});
  about.add({"Lockstep", cat(kVersion, " (", kGitRevision, "), ", launch::Runtime::mpi_version())});
  about.add({"data", data_text(facts.train_set)});
  about.add({"evaluation",
             facts.eval_set == nullptr ? "none (--eval-data)" : data_text(*facts.eval_set)});
  about.add({"model", facts.model});
  about.add({"batch", facts.batch});
  about.add({"steps", facts.steps});
  about.add({"gradients", facts.reduction});
  about.add({"run folder", facts.folder});
  if (!facts.resume.empty()) about.add({"resumed", facts.resume});
  const auto changed = facts.table.changed();
  about.add({"options", changed.empty() ? "all at their defaults" : changed.front()});
  for (std::size_t i = 1; i < changed.size(); ++i) about.add({"", changed[i]});

  using metrics::Align;
  metrics::Table ranks({{"rank", Align::kRight},
                        {"host"},
                        {"node", Align::kRight},
                        {"local", Align::kRight},
                        {"device"},
                        {"cores", Align::kRight},
                        {"threads", Align::kRight}});
  for (const auto& r : facts.runtime.all()) {
    ranks.add({cat(r.rank),
               r.host,
               cat(r.node),
               cat(r.local_rank),
               "cpu",
               cat(r.allowed_cores),
               cat(r.threads)});
  }
  return cat(about.text(), "\n", ranks.text("  "));
}

}  // namespace lockstep::session
