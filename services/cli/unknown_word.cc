#include "services/cli/unknown_word.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "services/base/text.h"

namespace eidolon::cli {
namespace {

// The last of the subcommands that were given, one inside of the other.
const CLI::App& Innermost(const CLI::App& app) {
  const CLI::App* at = &app;
  for (auto given = at->get_subcommands(); !given.empty(); given = at->get_subcommands()) {
    at = given.back();
  }
  return *at;
}

std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
  }
  return commands;
}

}  // namespace

std::optional<std::string> DescribeUnknownWord(const CLI::App& app) {
  const CLI::App& at = Innermost(app);
  const std::vector<std::string> left = at.remaining();
  if (left.empty() || left.front() == "--") return std::nullopt;
  // A flag may come with its value.
  const std::string word = left.front().substr(0, left.front().find('='));
  const bool is_flag = word.starts_with("-");
  const auto known = is_flag ? FlagsOf(at) : CommandsOf(at);
  if (!is_flag && known.empty()) return base::StrCat("unexpected word '", word, "'");
  auto nearest = base::NearestName(word, known);
  // An abbreviation is many edits away from its word.
  const auto begins = [&](const std::string& name) { return name.starts_with(word); };
  if (const auto found = std::ranges::find_if(known, begins); !nearest && found != known.end()) {
    nearest = *found;
  }
  return base::StrCat("unknown ", is_flag ? "flag '" : "command '", word, "'",
                      nearest ? base::StrCat(", did you mean '", *nearest, "'?") : ";",
                      " --help lists all");
}

}  // namespace eidolon::cli
