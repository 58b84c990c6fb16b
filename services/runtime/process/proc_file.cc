#include "services/runtime/process/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "services/base/text.h"

namespace eidolon::process {

std::string ReadProcFile(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char bytes[4096];
  const ssize_t count = read(file, bytes, sizeof bytes);
  close(file);
  return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : std::string();
}

std::string ReadWholeProcFile(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text;
  char bytes[16384];
  for (ssize_t count; (count = read(file, bytes, sizeof bytes)) > 0;) {
    text.append(bytes, static_cast<std::size_t>(count));
  }
  close(file);
  return text;
}

std::optional<ProcStat> ParseProcStat(const std::string& text) {
  // The name may hold anything, so fields are counted from its last parenthesis.
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close + 4 >= text.size()) {
    return std::nullopt;
  }
  ProcStat stat{.name = text.substr(open + 1, close - open - 1), .state = text[close + 2]};
  const std::string_view rest = std::string_view(text).substr(close + 4);
  const auto parent = base::ParseInteger(rest.substr(0, rest.find(' ')));
  if (!parent) return std::nullopt;
  stat.parent = static_cast<pid_t>(*parent);
  return stat;
}

}  // namespace eidolon::process
