#include "services/agent/launch/process_tree.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "services/agent/launch/proc_file.h"
#include "services/base/text.h"

namespace eidolon::agent::launch {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> NumberOf(const fs::path& path) {
  return base::ParseInteger(path.filename().string());
}

}  // namespace

std::vector<pid_t> DescendantsOf(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  ForEachProcEntry("/proc", [&](const fs::path& path) {
    const auto process = NumberOf(path);
    if (!process) return;
    const auto stat = ParseProcStat(ReadProcFile(path / "stat"));
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

std::vector<pid_t> AncestorsOf(pid_t process) {
  std::vector<pid_t> found;
  while (true) {
    const auto stat =
        ParseProcStat(ReadProcFile(fs::path("/proc") / std::to_string(process) / "stat"));
    if (!stat || stat->parent <= 0) return found;
    process = stat->parent;
    found.push_back(process);
  }
}

std::string NameOf(pid_t process) {
  const auto stat =
      ParseProcStat(ReadProcFile(fs::path("/proc") / std::to_string(process) / "stat"));
  return stat ? stat->name : "";
}

}  // namespace eidolon::agent::launch
