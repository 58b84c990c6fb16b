#include "services/base/log.h"

#include <unistd.h>

#include <atomic>
#include <string>

namespace eidolon::base {
namespace {

std::atomic<Level> minimum{Level::kInfo};

const char* LevelName(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarning:
      return "warning";
    case Level::kError:
      return "error";
  }
  return "error";
}

void AppendValue(std::string* line, std::string_view value) {
  const bool plain = !value.empty() && value.find_first_of(" \"\n\t=") == std::string_view::npos;
  if (plain) {
    line->append(value);
    return;
  }
  line->push_back('"');
  for (const char c : value) {
    if (c == '\n') {
      line->append("\\n");
      continue;
    }
    if (c == '"' || c == '\\') line->push_back('\\');
    line->push_back(c);
  }
  line->push_back('"');
}

}  // namespace

void SetLogLevel(Level level) { minimum.store(level); }

void Log(Level level, std::string_view event, std::initializer_list<Field> fields) {
  if (level < minimum.load(std::memory_order_relaxed)) return;
  std::string line = LevelName(level);
  line.push_back(' ');
  line.append(event);
  for (const auto& [key, value] : fields) {
    line.push_back(' ');
    line.append(key);
    line.push_back('=');
    AppendValue(&line, value);
  }
  line.push_back('\n');
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace eidolon::base
