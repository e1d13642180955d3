// SPDX-License-Identifier: MIT
#include "parallel/options.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

namespace lockstep::parallel {

void describe(config::OptionTable& table, Options& options) {
  table.group("parallel");
  table.choice("mode", options.mode, {"ddp"}, "how the work is shared: ddp, a process per device");
  table.real("bucket-mb",
             options.bucket_mb,
             {.min = 0,
              .max = 4096,
              .min_open = true,
              .help = "gradients are reduced in buckets of this size, in MiB"});
  table.choice("reduce",
               options.reduce,
               {"fast", "exact"},
               "how gradients are added: fast, or exact: the same bits for 1, 2, 4, .. ranks");
  table.integer("slots",
                options.slots,
                {.min = 1,
                 .max = 1024,
                 .help = "virtual ranks of exact mode, a power of two; the ranks must divide it"});
  table.choice("unused",
               options.unused,
               {"error", "zero"},
               "a parameter without a gradient: an error that names it, or zeros");
  table.choice("batch-norm",
               options.batch_norm,
               {"local", "sync"},
               "BatchNorm over a rank's own samples, or exactly over those of all ranks");
  table.group("debugging");
  table.integer(
      "check-replicas",
      options.check_replicas,
      {.min = 0,
       .help = "compare a bucket of the parameters over the ranks every so many steps; 0: off"});
  table.integer(
      "check-gradients",
      options.check_gradients,
      {.min = 0,
       .help = "report every parameter's gradient norm on each rank every so many steps; 0: off"});
}

void check_exact(const Options& options, std::int64_t ranks, std::int64_t accumulate) {
  if (options.reduce != "exact") return;
  const auto slots = options.slots;
  if (slots <= 0 || (slots & (slots - 1)) != 0) {
    throw UsageError(
        cat("--slots ", slots, ": exact mode adds along a binary tree; allowed: a power of two"));
  }
  if (slots % ranks != 0) {
    throw UsageError(cat("--reduce exact: ",
                         ranks,
                         " ranks do not divide --slots ",
                         slots,
                         "; start 1, 2, 4, .. ",
                         slots,
                         " ranks"));
  }
  if (options.batch_norm == "sync") {
    throw UsageError(
        "--reduce exact and --batch-norm sync exclude each other: exact mode has statistics per "
        "slot");
  }
  if (accumulate != 1) {
    throw UsageError(cat("--reduce exact and --accumulate ",
                         accumulate,
                         " exclude each other: the slots are the micro-steps"));
  }
}

}  // namespace lockstep::parallel
