#include "services/agent/launch/process_tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "services/base/text.h"

namespace eidolon::agent::launch {
namespace {

namespace fs = std::filesystem;

// Processes vanish while they are read: whatever is gone reads as empty.
std::string ReadWhole(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char bytes[4096];
  const ssize_t count = read(file, bytes, sizeof bytes);
  close(file);
  return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : std::string();
}

template <typename Visit>
void ForEachEntry(const fs::path& folder, Visit&& visit) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    visit(entry->path());
  }
}

// Of /proc/<pid>/stat: "pid (name) state parent ...". The name may hold anything, so fields are
// counted from its last parenthesis.
struct Stat {
  std::string name;
  char state = '?';
  pid_t parent = 0;
};

std::optional<Stat> ParseStat(const std::string& text) {
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close + 4 >= text.size()) {
    return std::nullopt;
  }
  Stat stat{.name = text.substr(open + 1, close - open - 1), .state = text[close + 2]};
  const std::string_view rest = std::string_view(text).substr(close + 4);
  const auto parent = base::ParseInteger(rest.substr(0, rest.find(' ')));
  if (!parent) return std::nullopt;
  stat.parent = static_cast<pid_t>(*parent);
  return stat;
}

std::optional<std::int64_t> NumberOf(const fs::path& path) {
  return base::ParseInteger(path.filename().string());
}

// "run-time wait-time slices" of /proc/<pid>/task/<tid>/schedstat.
std::uint64_t TimeSlices(const fs::path& task) {
  const std::string text = ReadWhole(task / "schedstat");
  const std::size_t last = text.find_last_of(' ');
  if (last == std::string::npos) return 0;
  std::uint64_t slices = 0;
  std::from_chars(text.data() + last + 1, text.data() + text.size(), slices);
  return slices;
}

bool Sleeps(char state) {
  // Interruptible sleep, stopped, traced, idle or dead; R runs, D waits for a disk.
  return state != 'R' && state != 'D';
}

}  // namespace

std::vector<pid_t> DescendantsOf(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  ForEachEntry("/proc", [&](const fs::path& path) {
    const auto process = NumberOf(path);
    if (!process) return;
    const auto stat = ParseStat(ReadWhole(path / "stat"));
    if (stat) children.emplace(stat->parent, static_cast<pid_t>(*process));
  });
  std::vector<pid_t> found;
  std::vector<pid_t> open = {root};
  while (!open.empty()) {
    const auto [begin, end] = children.equal_range(open.back());
    open.pop_back();
    for (auto child = begin; child != end; ++child) {
      found.push_back(child->second);
      open.push_back(child->second);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

Activity LookAt(const std::vector<pid_t>& processes) {
  Activity activity;
  for (const pid_t process : processes) {
    const fs::path tasks = fs::path("/proc") / std::to_string(process) / "task";
    ForEachEntry(tasks, [&](const fs::path& task) {
      const auto stat = ParseStat(ReadWhole(task / "stat"));
      if (!stat) return;
      activity.all_asleep = activity.all_asleep && Sleeps(stat->state);
      activity.time_slices += TimeSlices(task);
    });
  }
  return activity;
}

std::uint64_t MainThreadSlices(pid_t process) {
  const std::string number = std::to_string(process);
  return TimeSlices(fs::path("/proc") / number / "task" / number);
}

std::string NameOf(pid_t process) {
  const auto stat = ParseStat(ReadWhole(fs::path("/proc") / std::to_string(process) / "stat"));
  return stat ? stat->name : "";
}

}  // namespace eidolon::agent::launch
