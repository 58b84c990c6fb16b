// Scripts that complete the words of `eidolon` in a shell: subcommands and flags, from the tree of
// commands itself, so that they never name what is not there.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace eidolon::cli {

// Words that may follow those of one command.
struct CompletionRow {
  std::string path;  // Words before it, such as "eidolon net".
  std::vector<std::string> commands;
  std::vector<std::string> flags;
};

// Every command of the tree, the outermost first.
std::vector<CompletionRow> CompletionRowsOf(const CLI::App& app);

// Returns the script for bash, zsh or fish; empty for another shell.
std::string CompletionScript(const std::vector<CompletionRow>& rows, const std::string& shell);

}  // namespace eidolon::cli
