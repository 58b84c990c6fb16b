#include "services/agent/launch/own_command.h"

#include <errno.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace eidolon::agent::launch {

base::Result<std::vector<std::string>> OwnCommand() {
  std::error_code failure;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) return base::Fail(base::ErrorCode::kInternal, failure.message());
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return OwnCommandOf(words, program_invocation_name, executable.string());
}

std::vector<std::string> OwnCommandOf(const std::vector<std::string>& words,
                                      const std::string& name, const std::string& executable) {
  const auto found = std::find(words.begin(), words.end(), name);
  // What stands before the program's own name is its loader, with options.
  if (found == words.begin() || found == words.end()) return {executable};
  std::vector<std::string> command = {executable};
  command.insert(command.end(), words.begin() + 1, found + 1);
  return command;
}

}  // namespace eidolon::agent::launch
