// The scripts are generated from the tree that CLI11 parses with, so a new command or flag
// completes without another change. A script walks over the words that were typed and keeps the
// path of commands so far; everything behind "--" belongs to the user's program and is completed as
// file names. Fish has conditions instead of a loop, so each row becomes lines with the commands
// that must have been seen.
#include "services/cli/completion.h"

#include <CLI/CLI.hpp>

#include "services/base/text.h"

namespace eidolon::cli {
namespace {

using base::Join;
using base::StrCat;

void AddRows(const CLI::App& app, const std::string& path, std::vector<CompletionRow>* rows) {
  CompletionRow row{.path = path};
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames()) row.flags.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) row.flags.push_back("--" + name);
  }
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : below) row.commands.push_back(command->get_name());
  rows->push_back(std::move(row));
  for (const CLI::App* command : below) AddRows(*command, path + " " + command->get_name(), rows);
}

// The words that were typed, as far as they are commands, choose the row. Words after -- are a
// program's own.
std::string Bash(const std::vector<CompletionRow>& rows) {
  std::string text =
      "# eidolon completion bash\n"
      "_eidolon() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} path=eidolon commands= flags= at\n"
      "  COMPREPLY=()\n"
      "  for ((at = 1; at <= COMP_CWORD; ++at)); do\n"
      "    case $path in\n";
  for (const CompletionRow& row : rows) {
    text += StrCat("      '", row.path, "') commands='", Join(row.commands, " "), "' flags='",
                   Join(row.flags, " "), "' ;;\n");
  }
  return text +
         "    esac\n"
         "    ((at < COMP_CWORD)) || break\n"
         "    [[ ${COMP_WORDS[at]} != -- ]] || { compopt -o default 2>/dev/null; return; }\n"
         "    [[ \" $commands \" != *\" ${COMP_WORDS[at]} \"* ]] || path+=\" ${COMP_WORDS[at]}\"\n"
         "  done\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -W \"$commands\" -- \"$word\"))\n"
         "    [[ -n $commands ]] || compopt -o default 2>/dev/null\n"
         "  fi\n"
         "}\n"
         "complete -F _eidolon eidolon\n";
}

std::string Fish(const std::vector<CompletionRow>& rows) {
  std::string text = "# eidolon completion fish\n";
  for (const CompletionRow& row : rows) {
    std::string condition = "__fish_use_subcommand";
    for (const std::string_view word : base::Split(row.path, ' ')) {
      if (word == "eidolon") continue;
      condition = StrCat(condition == "__fish_use_subcommand" ? "" : condition + "; and ",
                         "__fish_seen_subcommand_from ", word);
    }
    if (!row.commands.empty()) {
      text += StrCat("complete -c eidolon -f -n '", condition, "' -a '", Join(row.commands, " "),
                     "'\n");
    }
    for (const std::string& flag : row.flags) {
      const bool is_long = flag.starts_with("--");
      text += StrCat("complete -c eidolon -n '", condition, "' ", is_long ? "-l " : "-s ",
                     flag.substr(is_long ? 2 : 1), "\n");
    }
  }
  return text;
}

}  // namespace

std::vector<CompletionRow> CompletionRowsOf(const CLI::App& app) {
  std::vector<CompletionRow> rows;
  AddRows(app, "eidolon", &rows);
  return rows;
}

std::string CompletionScript(const std::vector<CompletionRow>& rows, const std::string& shell) {
  if (shell == "bash") return Bash(rows);
  // zsh runs completions of bash.
  if (shell == "zsh") {
    return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" +
           Bash(rows);
  }
  return shell == "fish" ? Fish(rows) : "";
}

}  // namespace eidolon::cli
