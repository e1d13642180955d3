// SPDX-License-Identifier: MIT
// The table as text: --help for people, --print-config for people and for --config.
#include "config/option_table.hpp"
#include "core/text.hpp"

namespace lockstep::config {
namespace {

constexpr std::size_t kHelpColumn = 36;
constexpr std::size_t kHelpWidth = 100;

// Breaks between pieces; lines after the first are indented to the column of the help texts.
std::string wrapped(const std::vector<std::string>& pieces) {
  std::string out;
  std::size_t line = 0;
  for (const auto& word : pieces) {
    if (line > 0 && line + 1 + word.size() > kHelpWidth - kHelpColumn) {
      out += cat("\n", std::string(kHelpColumn, ' '));
      line = 0;
    }
    out += cat(line > 0 ? " " : "", word);
    line += (line > 0 ? 1 : 0) + word.size();
  }
  return out;
}

std::string help_entry(const Option& option) {
  auto left = cat("  --", option.name, option.value_hint.empty() ? "" : " ", option.value_hint);
  if (left.size() + 2 <= kHelpColumn) {
    left.resize(kHelpColumn, ' ');
  } else {
    left += cat("\n", std::string(kHelpColumn, ' '));
  }
  auto pieces = split(option.help, ' ');
  const auto standard = join(option.default_text, ", ");
  if (!standard.empty() && !option.value_hint.empty())
    pieces.push_back(cat("(default ", standard, ")"));
  return cat(left, wrapped(pieces), "\n");
}

}  // namespace

std::vector<const Option*> OptionTable::of_group(const std::string& group) const {
  std::vector<const Option*> out;
  for (const auto& option : options_) {
    if (option.group == group) out.push_back(&option);
  }
  return out;
}

std::string OptionTable::help() const {
  std::string out;
  for (const auto& group : groups_) {
    const auto members = of_group(group);
    if (!members.empty() && !group.empty()) out += cat("\n", group, "\n");
    for (const auto* option : members) out += help_entry(*option);
  }
  return out;
}

std::string OptionTable::print() const {
  std::string out;
  for (const auto& group : groups_) {
    const auto members = of_group(group);
    if (!members.empty() && !group.empty()) out += cat(out.empty() ? "" : "\n", "# ", group, "\n");
    for (const auto* option : members) {
      const auto values = option->get();
      for (const auto& value : values) out += cat(option->name, " = ", value, "\n");
      if (values.empty()) out += cat("# ", option->name, " =\n");
    }
  }
  return out;
}

}  // namespace lockstep::config
