#include "services/process/process_tree.h"

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
#include "services/process/proc_file.h"

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

}  // namespace

std::vector<pid_t> ChildrenOf(pid_t parent) {
  const std::multimap<pid_t, pid_t> children = AllByParent();
  std::vector<pid_t> found;
  const auto [begin, end] = children.equal_range(parent);
  for (auto child = begin; child != end; ++child) found.push_back(child->second);
  return found;
}

std::vector<pid_t> DescendantsOf(pid_t root) {
  const std::multimap<pid_t, pid_t> children = AllByParent();
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

std::vector<pid_t> DescendantsNow(pid_t root) {
  // Kernels may be built without these lists.
  static const bool has_lists = [] {
    const std::string self = std::to_string(getpid());
    return access(("/proc/" + self + "/task/" + self + "/children").c_str(), R_OK) == 0;
  }();
  if (!has_lists) return DescendantsOf(root);
  constexpr std::size_t kCut = 4096;  // ReadProcFile reads no more.
  bool is_cut = false;
  std::vector<pid_t> found;
  std::vector<pid_t> open = {root};
  while (!open.empty()) {
    const fs::path tasks = fs::path("/proc") / std::to_string(open.back()) / "task";
    open.pop_back();
    ForEachProcEntry(tasks, [&](const fs::path& task) {
      const std::string children = ReadProcFile(task / "children");
      is_cut = is_cut || children.size() >= kCut;
      for (const std::string_view word : base::Split(children, ' ')) {
        const auto child = base::ParseInteger(word);
        if (!child) continue;
        found.push_back(static_cast<pid_t>(*child));
        open.push_back(static_cast<pid_t>(*child));
      }
    });
  }
  if (is_cut) return DescendantsOf(root);
  std::sort(found.begin(), found.end());
  return found;
}

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool EndAll(const std::function<std::vector<pid_t>()>& roots) {
  const base::SystemClock clock;
  const std::int64_t until_ns = clock.MonotonicNs() + kLongestEndNs;
  while (true) {
    // Who is killed leaves its children to this process, so they are among the roots next time.
    std::vector<pid_t> left;
    for (const pid_t root : roots()) {
      left.push_back(root);
      const std::vector<pid_t> below = DescendantsOf(root);
      left.insert(left.end(), below.begin(), below.end());
    }
    if (left.empty()) return true;
    for (const pid_t process : left) kill(process, SIGKILL);
    for (const pid_t process : left) waitpid(process, nullptr, WNOHANG);
    if (clock.MonotonicNs() > until_ns) return false;
    poll(nullptr, 0, kLookAgainMs);
  }
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

}  // namespace eidolon::process
