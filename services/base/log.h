// Log lines of services: level, event name, then key=value, one line per event, to stderr.
//   Log(Level::kInfo, "job_started", {{"job", name}, {"ranks", "8"}});
// Never in per-event loops: use a counter there. The shim does not log.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace eidolon::base {

enum class Level { kDebug, kInfo, kWarning, kError };

using Field = std::pair<std::string_view, std::string>;

// Lines below this level are dropped. Set once at start; the default is kInfo.
void SetLogLevel(Level level);

// Thread safe: a line is written in one piece. Values with spaces or quotes are quoted.
void Log(Level level, std::string_view event, std::initializer_list<Field> fields = {});

}  // namespace eidolon::base
