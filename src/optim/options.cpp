// SPDX-License-Identifier: MIT
// The optimiser's options: declared once, and checked where more than one of them has a say.
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"
#include "optim/optimizer.hpp"

namespace lockstep::optim {
namespace {

// Options may also come from a program that filled the struct itself, past the table's own checks.
void require(bool good, const char* option, double value, const char* allowed) {
  if (!good) {
    throw ConfigError(
        cat("--", option, ": ", shortest(value), " is not allowed; it must be ", allowed));
  }
}

void read_betas(const std::string& text, Hyper& hyper) {
  const std::vector<std::string> parts = split(text, ',');
  if (parts.size() != 2) {
    throw ConfigError(
        cat("--betas: '", text, "' is not two numbers with a comma between, as in 0.9,0.999"));
  }
  double* const targets[] = {&hyper.beta1, &hyper.beta2};
  for (std::size_t i = 0; i < 2; ++i) {
    try {
      *targets[i] = config::parse_real(trim(parts[i]), {.min = 0, .max = 1, .max_open = true});
    } catch (const Error& error) {
      throw ConfigError(cat("--betas: '", text, "': ", error.what()));
    }
  }
}

Rule rule_of(const std::string& name) {
  if (name == "sgd") return Rule::kSgd;
  if (name == "adam") return Rule::kAdam;
  if (name == "adamw") return Rule::kAdamW;
  throw ConfigError(cat("--optimizer: '", name, "' is not one of sgd, adam, adamw"));
}

}  // namespace

void describe(config::OptionTable& table, Options& options) {
  table.group("optimiser");
  table.choice("optimizer",
               options.optimizer,
               {"sgd", "adam", "adamw"},
               "update rule: SGD, Adam (weight decay as L2), AdamW (decoupled weight decay)");
  table.real("lr", options.lr, {.min = 0, .help = "learning rate after warm-up"});
  table.choice("lr-schedule",
               options.lr_schedule,
               {"constant", "step", "cosine", "linear"},
               "course of the learning rate; cosine and linear end with --epochs");
  table.text("lr-step",
             options.lr_step,
             "N,FACTOR",
             "with --lr-schedule step: multiply by FACTOR every N steps, or Ne epochs (30e,0.1)");
  table.real("lr-final",
             options.lr_final,
             {.min = 0, .max = 1, .help = "where cosine and linear end, as a share of --lr"});
  table.integer("warmup-steps",
                options.warmup_steps,
                {.min = 0, .help = "steps over which the rate rises linearly to --lr; 0: none"});
  table.real("weight-decay", options.weight_decay, {.min = 0, .help = "weight decay"});
  table.real("momentum",
             options.momentum,
             {.min = 0, .max = 1, .max_open = true, .help = "momentum of sgd"});
  table.flag("nesterov", options.nesterov, "Nesterov's momentum, with sgd");
  table.text("betas",
             options.betas,
             "B1,B2",
             "decay of the averages of adam and adamw, each in [0, 1)");
  table.real("eps", options.eps, {.min = 0, .help = "added to the denominator of adam and adamw"});
  table.real("clip-norm",
             options.clip_norm,
             {.min = 0, .help = "largest norm of the whole gradient; 0: off"});
}

Hyper hyper_of(const Options& options) {
  Hyper hyper;
  hyper.rule = rule_of(options.optimizer);
  const auto finite_from_zero = [](double value) { return std::isfinite(value) && value >= 0; };
  require(finite_from_zero(options.lr), "lr", options.lr, "finite and at least 0");
  require(finite_from_zero(options.weight_decay),
          "weight-decay",
          options.weight_decay,
          "finite and at least 0");
  require(finite_from_zero(options.eps), "eps", options.eps, "finite and at least 0");
  require(finite_from_zero(options.clip_norm),
          "clip-norm",
          options.clip_norm,
          "finite and at least 0 (0: off)");
  require(options.momentum >= 0 && options.momentum < 1, "momentum", options.momentum, "in [0, 1)");
  hyper.lr = options.lr;
  hyper.weight_decay = options.weight_decay;
  hyper.eps = options.eps;
  read_betas(options.betas, hyper);
  hyper.momentum = options.momentum;
  hyper.nesterov = options.nesterov;
  if (options.nesterov && hyper.rule != Rule::kSgd) {
    throw ConfigError(cat("--nesterov goes with --optimizer sgd, not with ", options.optimizer));
  }
  if (options.nesterov && options.momentum == 0) {
    throw ConfigError("--nesterov needs --momentum above 0");
  }
  return hyper;
}

}  // namespace lockstep::optim
