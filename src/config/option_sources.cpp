// SPDX-License-Identifier: MIT
// Where values come from: the command line, the environment, a config file.
#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdlib>
#include <fstream>
#include <map>

#include "config/detail/config_line.hpp"
#include "config/option_table.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

extern char** environ;

namespace lockstep::config {
namespace po = boost::program_options;
namespace {

constexpr std::string_view kEnvironmentPrefix = "LOCKSTEP_";
// Variables of this prefix that belong to scripts and tests, not to the option table.
constexpr std::string_view kReserved[] = {"LOCKSTEP_TORCH",
                                          "LOCKSTEP_CACHE",
                                          "LOCKSTEP_ROOT",
                                          "LOCKSTEP_LONG",
                                          "LOCKSTEP_NO_SKIP",
                                          "LOCKSTEP_MAX_REQUEUE",
                                          "LOCKSTEP_TEST_LIMIT_S",
                                          "LOCKSTEP_BUILD"};

std::string as_environment(std::string_view name) {
  std::string out(kEnvironmentPrefix);
  for (const char c : name)
    out += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

// name -> values, in the order given. Boost reads words; what they mean is the table's business.
struct Words {
  std::vector<std::pair<std::string, std::vector<std::string>>> named;
  std::vector<std::string> positional;

  void add(const std::string& name, std::vector<std::string> values) {
    for (auto& [known, list] : named) {
      if (known == name) {
        list.insert(list.end(), values.begin(), values.end());
        return;
      }
    }
    named.emplace_back(name, std::move(values));
  }
};

Words read_command_line(const std::vector<std::string>& arguments,
                        const std::vector<Option>& options) {
  po::options_description description;
  const auto values = [] { return po::value<std::vector<std::string>>(); };
  for (const auto& option : options) {
    auto* semantic = values();
    if (option.value_hint.empty())
      semantic->implicit_value({"true"}, "");  // a switch may stand alone
    description.add_options()(option.name.c_str(), semantic);
  }
  description.add_options()("config", values());
  using Style = po::command_line_style::style_t;
  const int style = Style::allow_long | Style::long_allow_adjacent | Style::long_allow_next;
  Words words;
  try {
    const auto parsed = po::command_line_parser(arguments)
                            .options(description)
                            .style(style)
                            .allow_unregistered()
                            .run();
    for (const auto& option : parsed.options) {
      if (option.position_key >= 0 || option.string_key.empty()) {
        words.positional.insert(words.positional.end(), option.value.begin(), option.value.end());
      } else {
        const bool is_switch =
            std::any_of(options.begin(), options.end(), [&](const Option& known) {
              return known.name == option.string_key && known.value_hint.empty();
            });
        const bool bare = is_switch && option.value.empty();
        words.add(option.string_key,
                  option.unregistered ? std::vector<std::string>{}
                  : bare              ? std::vector<std::string>{"true"}
                                      : option.value);
      }
    }
  } catch (const po::error& e) {
    throw UsageError(cat(e.what(), "; --help lists all options"));
  }
  return words;
}

}  // namespace

std::string OptionTable::unknown(std::string_view name) const {
  std::vector<std::string> names = {"config", "help"};
  for (const auto& option : options_) names.push_back(option.name);
  const auto close = nearest(name, names);
  return close.empty() ? "--help lists all options" : cat("did you mean ", join(close, ", "), "?");
}

void OptionTable::assign(Option& option,
                         const std::vector<std::string>& values,
                         Source source,
                         const std::string& where) {
  if (source < option.source) return;
  if (option.is_list) option.clear();
  for (const auto& value : values) {
    try {
      option.set(value);
    } catch (const Error& e) {
      const auto text = cat(where, ": '", value.substr(0, 80), "' is not possible; ", e.what());
      if (source == Source::kCommandLine) throw UsageError(text);
      throw ConfigError(text);
    }
  }
  option.source = source;
}

std::vector<std::string> OptionTable::parse(const std::vector<std::string>& arguments,
                                            std::vector<std::string>& warnings) {
  const Words words = read_command_line(arguments, options_);
  std::string file;
  for (const auto& [name, values] : words.named) {
    if (name == "config") {
      if (values.size() != 1 || values[0].empty()) throw UsageError("--config: give one file");
      file = values[0];
      continue;
    }
    auto* option = const_cast<Option*>(find(name));
    if (option == nullptr) throw UsageError(cat("unknown option --", name, "; ", unknown(name)));
    if (values.empty()) throw UsageError(cat("--", name, ": the value is missing"));
    for (const auto& value : values) {
      if (value.starts_with("--"))
        throw UsageError(
            cat("--", name, ": the value is missing; ", value, " looks like the next option"));
    }
    if (!option->is_list && values.size() > 1) {
      throw UsageError(cat("--",
                           name,
                           " is given ",
                           values.size(),
                           " times (",
                           join(values, ", "),
                           "); give it once"));
    }
    assign(*option, values, Source::kCommandLine, cat("--", name));
  }
  read_environment(warnings);
  if (!file.empty()) read_file(file);
  return words.positional;
}

void OptionTable::read_environment(std::vector<std::string>& warnings) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with(kEnvironmentPrefix)) continue;
    const auto equals = text.find('=');
    const std::string variable(text.substr(0, equals));
    if (std::find(std::begin(kReserved), std::end(kReserved), variable) != std::end(kReserved))
      continue;
    const auto it = std::find_if(options_.begin(), options_.end(), [&](const Option& o) {
      return as_environment(o.name) == variable;
    });
    if (it == options_.end()) {
      warnings.push_back(cat("the variable ", variable, " is no option and has no effect"));
      continue;
    }
    const std::string value(equals == std::string_view::npos ? "" : text.substr(equals + 1));
    if (it->source < Source::kEnvironment) assign(*it, {value}, Source::kEnvironment, variable);
  }
}

void OptionTable::read_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw ConfigError(cat(path, ": cannot read this config file"));
  constexpr std::size_t kMaxLine = 1 << 16;
  std::map<std::string, std::pair<int, std::vector<std::string>>> values;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const auto where = cat(path, ":", number);
    if (line.size() > kMaxLine)
      throw ConfigError(
          cat(where, ": the line has ", line.size(), " bytes; at most ", kMaxLine, " are allowed"));
    const auto text = trim(std::string_view(line).substr(0, detail::comment_begin(line)));
    if (text.empty()) continue;
    const auto equals = text.find('=');
    if (equals == std::string::npos)
      throw ConfigError(cat(where, ": '", text.substr(0, 80), "' is not of the form name = value"));
    const auto name = trim(std::string_view(text).substr(0, equals));
    const auto value = trim(std::string_view(text).substr(equals + 1));
    auto* option = const_cast<Option*>(find(name));
    if (option == nullptr)
      throw ConfigError(cat(where, ": unknown option '", name, "'; ", unknown(name)));
    if (value.empty())
      throw ConfigError(
          cat(where, ": ", name, " has no value; leave the line out for the default"));
    auto& [first, all] = values[name];
    if (!all.empty() && !option->is_list)
      throw ConfigError(cat(where, ": ", name, " was already set in line ", first));
    if (all.empty()) first = number;
    all.push_back(value);
  }
  for (const auto& [name, entry] : values) {
    assign(*const_cast<Option*>(find(name)),
           entry.second,
           Source::kFile,
           cat(path, ":", entry.first, ": ", name));
  }
}

}  // namespace lockstep::config
