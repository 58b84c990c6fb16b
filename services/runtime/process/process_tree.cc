// /proc is not a snapshot: processes start, end and change their parents while it is read. Nothing
// here relies on one look. EndAll kills what it finds, looks again, and is done only when no root
// is left: a process that was forked meanwhile loses its parent, becomes a child of this process
// (its subreaper) and is found in the next round. Killing by process group or session would miss
// those that made one of their own. A killed process must also be collected, or it stays in /proc
// as a zombie and counts as left.
#include "services/runtime/process/process_tree.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/clock.h"
#include "services/base/text.h"
#include "services/runtime/process/proc_file.h"

namespace eidolon::process {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLongestEndNs = 10'000'000'000;
constexpr int kLookAgainMs = 2;

std::optional<std::int64_t> NumberOf(const fs::path& path) {
  return base::ParseInteger(path.filename().string());
}

std::multimap<pid_t, pid_t> AllByParent() {
  std::multimap<pid_t, pid_t> children;
  ForEachProcEntry("/proc", [&](const fs::path& path) {
    const auto process = NumberOf(path);
    if (!process) return;
    const auto stat = ParseProcStat(ReadProcFile(path / "stat"));
    if (stat) children.emplace(stat->parent, static_cast<pid_t>(*process));
  });
  return children;
}

// Everything below `roots`, which is looked for once in all processes.
std::set<pid_t> Below(std::vector<pid_t> roots) {
  const std::multimap<pid_t, pid_t> children = AllByParent();
  std::set<pid_t> found;
  while (!roots.empty()) {
    const auto [begin, end] = children.equal_range(roots.back());
    roots.pop_back();
    for (auto child = begin; child != end; ++child) {
      if (found.insert(child->second).second) roots.push_back(child->second);
    }
  }
  return found;
}

std::optional<pid_t> ParentOf(pid_t process) {
  const auto stat =
      ParseProcStat(ReadProcFile(fs::path("/proc") / std::to_string(process) / "stat"));
  return stat && stat->parent > 0 ? std::optional(stat->parent) : std::nullopt;
}

}  // namespace

std::vector<pid_t> ChildrenOf(pid_t parent) {
  const std::multimap<pid_t, pid_t> children = AllByParent();
  std::vector<pid_t> found;
  const auto [begin, end] = children.equal_range(parent);
  for (auto child = begin; child != end; ++child) found.push_back(child->second);
  return found;
}

std::vector<pid_t> DescendantsOf(pid_t root) {
  const std::set<pid_t> found = Below({root});
  return {found.begin(), found.end()};
}

std::vector<pid_t> DescendantsNow(pid_t root) {
  // Kernels may be built without these lists.
  static const bool has_lists = [] {
    const std::string self = std::to_string(getpid());
    return access(("/proc/" + self + "/task/" + self + "/children").c_str(), R_OK) == 0;
  }();
  if (!has_lists) return DescendantsOf(root);
  std::vector<pid_t> found;
  std::vector<pid_t> open = {root};
  while (!open.empty()) {
    const fs::path tasks = fs::path("/proc") / std::to_string(open.back()) / "task";
    open.pop_back();
    ForEachProcEntry(tasks, [&](const fs::path& task) {
      const std::string children = ReadWholeProcFile(task / "children");
      for (const std::string_view word : base::Split(children, ' ')) {
        const auto child = base::ParseInteger(word);
        if (!child) continue;
        found.push_back(static_cast<pid_t>(*child));
        open.push_back(static_cast<pid_t>(*child));
      }
    });
  }
  std::sort(found.begin(), found.end());
  return found;
}

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool EndAll(const std::function<std::vector<pid_t>()>& roots) {
  const base::SystemClock clock;
  const std::int64_t until_ns = clock.MonotonicNs() + kLongestEndNs;
  while (true) {
    // Who is killed leaves its children to this process, so they are among the roots next time.
    const std::vector<pid_t> first = roots();
    if (first.empty()) return true;
    std::set<pid_t> left = Below(first);
    left.insert(first.begin(), first.end());
    for (const pid_t process : left) kill(process, SIGKILL);
    for (const pid_t process : left) waitpid(process, nullptr, WNOHANG);
    if (clock.MonotonicNs() > until_ns) return false;
    poll(nullptr, 0, kLookAgainMs);
  }
}

std::vector<pid_t> AncestorsOf(pid_t process) {
  std::vector<pid_t> found;
  for (auto parent = ParentOf(process); parent; parent = ParentOf(*parent)) {
    found.push_back(*parent);
  }
  return found;
}

bool IsWithin(pid_t process, const std::set<pid_t>& roots) {
  if (roots.empty()) return false;
  for (std::optional<pid_t> at = process; at; at = ParentOf(*at)) {
    if (roots.contains(*at)) return true;
    if (*at == getpid()) return false;
  }
  return false;
}

std::string DescribeStopped(pid_t process) {
  const auto stat =
      ParseProcStat(ReadProcFile(fs::path("/proc") / std::to_string(process) / "stat"));
  if (!stat || (stat->state != 'T' && stat->state != 't')) return "";
  return base::StrCat("(pid ", process, ", ", stat->name, ") is stopped (state ",
                      std::string(1, stat->state), ")");
}

std::string NameOf(pid_t process) {
  const auto stat =
      ParseProcStat(ReadProcFile(fs::path("/proc") / std::to_string(process) / "stat"));
  return stat ? stat->name : "";
}

}  // namespace eidolon::process
