// SPDX-License-Identifier: MIT
// One declaration of an option drives the parser, --help, --print-config, the start table and the
// digest that ranks compare. The table knows no room: each room's Options struct is bound to it by
// that room's describe().
//
//   struct Options { std::int64_t batch_size = 64; };
//   void describe(OptionTable& table, Options& o) {
//     table.group("batch");
//     table.integer("batch-size", o.batch_size, {.min = 1, .help = "samples of one update over all
//     devices"});
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::config {

/// Where a value came from; a later one wins.
enum class Source { kDefault, kFile, kEnvironment, kCommandLine };
const char* source_name(Source source);

/// One option as the table keeps it: `set` parses and checks a text (throws ConfigError with what
/// is allowed), `get` prints the present value in the form that `set` reads.
struct Option {
  std::string name;  ///< kebab-case, without dashes in front
  std::string group;
  std::string help;        ///< one clause, with the unit
  std::string value_hint;  ///< "N", "PATH", "a/b/c"; empty for a switch
  bool is_list = false;    ///< may be given several times; each time adds
  bool in_digest = true;   ///< must be equal on all ranks (false: log files and the like)
  std::function<void(const std::string&)> set;
  std::function<void()> clear;  ///< lists only
  std::function<std::vector<std::string>()> get;
  std::vector<std::string> default_text;
  Source source = Source::kDefault;
};

struct IntegerRule {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::string help;
};

struct RealRule {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_open = false;  ///< the minimum itself is not allowed
  bool max_open = false;
  std::string help;
};

/// The options of a command. Bound variables must outlive the table.
class OptionTable {
 public:
  /// Options added from here on belong to this group of --help and --print-config. Groups come in
  /// the order in which they were first named here; several rooms may add to one.
  void group(std::string name);

  void integer(std::string name, std::int64_t& target, IntegerRule rule);
  void real(std::string name, double& target, RealRule rule);
  void text(std::string name, std::string& target, std::string value_hint, std::string help);
  /// `--name`, `--name=true`, `--name=false`.
  void flag(std::string name, bool& target, std::string help);
  /// One of `allowed`.
  void choice(std::string name,
              std::string& target,
              std::vector<std::string> allowed,
              std::string help);
  /// Given several times, each time one element.
  void list(std::string name,
            std::vector<std::string>& target,
            std::string value_hint,
            std::string help);
  /// Anything with its own parser (durations, "500/1e/10m"): see Option.
  void custom(Option option);
  /// Takes the named option out of the digest that ranks compare.
  void exclude_from_digest(std::string_view name);

  /// Command line after the command's name, then LOCKSTEP_NAME variables, then the file that
  /// --config names. Words that are no options are returned, in order. A wrong command line throws
  /// UsageError, a wrong file ConfigError with file and line, each with the nearest names or the
  /// allowed values. Warnings (an unknown LOCKSTEP_* variable) are appended to `warnings`.
  std::vector<std::string> parse(const std::vector<std::string>& arguments,
                                 std::vector<std::string>& warnings);

  const Option* find(std::string_view name) const;
  const std::vector<Option>& options() const { return options_; }
  /// True where the value is not from the default.
  bool given(std::string_view name) const;

  /// Grouped, with defaults, at most 100 columns wide.
  std::string help() const;
  /// `name = value` lines that reproduce this configuration; a valid --config file.
  std::string print() const;
  /// "name = value (source)" of every option that is not at its default.
  std::vector<std::string> changed() const;
  /// Digest of all values that ranks must agree on.
  std::uint64_t digest() const;

 private:
  Option& add(std::string name, std::string value_hint, std::string help);
  void assign(Option& option,
              const std::vector<std::string>& values,
              Source source,
              const std::string& where);
  void read_environment(std::vector<std::string>& warnings);
  void read_file(const std::string& path);
  std::string unknown(std::string_view name) const;
  std::vector<const Option*> of_group(const std::string& group) const;

  std::vector<Option> options_;
  std::vector<std::string> groups_{""};  // options before the first group() have none
  std::string group_;
};

/// "500" or "10.5": a whole text that is a number in range; throws ConfigError that says what is
/// allowed.
std::int64_t parse_integer(std::string_view text, std::int64_t min, std::int64_t max);
double parse_real(std::string_view text, const RealRule& rule);

}  // namespace lockstep::config
