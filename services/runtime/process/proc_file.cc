#include "services/runtime/process/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>
#include <vector>

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
  const std::vector<std::string_view> fields =
      base::Split(std::string_view(text).substr(close + 2), ' ');
  constexpr std::size_t kFirst = 3;  // Number of the first field behind the name, in proc(5).
  const auto number = [&](std::size_t field) {
    if (field - kFirst >= fields.size()) return std::uint64_t{0};
    const auto value = base::ParseInteger(fields[field - kFirst]);
    return value && *value > 0 ? static_cast<std::uint64_t>(*value) : std::uint64_t{0};
  };
  const auto parent = base::ParseInteger(fields.size() > 1 ? fields[1] : "");
  if (!parent) return std::nullopt;
  stat.parent = static_cast<pid_t>(*parent);
  stat.cpu_ticks = number(14) + number(15);
  stat.start_ticks = number(22);
  stat.virtual_bytes = number(23);
  stat.resident_pages = number(24);
  return stat;
}

}  // namespace eidolon::process
