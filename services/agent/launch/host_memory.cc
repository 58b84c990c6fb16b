// A process that the kernel kills for want of memory gets the same SIGKILL as any other, so only
// the cgroup's counters tell the two apart. Version 2 and version 1 name them differently, and
// inside of a container the cgroup's own path may not be visible, where the root of the mount is
// the container's cgroup. Counters run since the cgroup was made, hence the caller compares two
// readings. A pod's cgroup has the container's limit and holds a little more, so a peak near the
// limit counts as the limit.
#include "services/agent/launch/host_memory.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "services/base/text.h"

namespace eidolon::agent::launch {
namespace {

// Limit of version 1, where "no limit" is a number near 2^63.
constexpr std::uint64_t kNoLimitBytes = std::uint64_t{1} << 60;
// A tenth of the limit: what else a pod's cgroup may hold.
constexpr std::uint64_t kSpareShare = 10;

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

std::uint64_t NumberIn(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  const auto number = base::ParseInteger(text);
  return number.has_value() && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

// Of the line "name number"; 0: there is none.
std::uint64_t CountOf(const std::string& text, std::string_view name) {
  for (const std::string_view line : base::Split(text, '\n')) {
    if (line.starts_with(name) && line.substr(name.size()).starts_with(' ')) {
      return NumberIn(line.substr(name.size() + 1));
    }
  }
  return 0;
}

// The process's cgroup under a hierarchy: by its path, or, where a container sees no more than its
// own cgroup, the root.
std::vector<std::string> FoldersIn(const std::string& root, std::string_view path) {
  return {base::StrCat(root, path), root};
}

std::optional<HostMemory> ReadVersion2(const std::string& folder) {
  const auto events = ReadFile(folder + "/memory.events");
  if (!events) return std::nullopt;
  // "max" stands for no limit, and has no digits.
  return HostMemory{.kills = CountOf(*events, "oom_kill"),
                    .limit_hits = CountOf(*events, "oom"),
                    .limit_bytes = NumberIn(ReadFile(folder + "/memory.max").value_or("")),
                    .peak_bytes = NumberIn(ReadFile(folder + "/memory.peak").value_or(""))};
}

std::optional<HostMemory> ReadVersion1(const std::string& folder) {
  const auto control = ReadFile(folder + "/memory.oom_control");
  if (!control) return std::nullopt;
  HostMemory memory{
      .kills = CountOf(*control, "oom_kill"),
      .limit_hits = NumberIn(ReadFile(folder + "/memory.failcnt").value_or("")),
      .limit_bytes = NumberIn(ReadFile(folder + "/memory.limit_in_bytes").value_or("")),
      .peak_bytes = NumberIn(ReadFile(folder + "/memory.max_usage_in_bytes").value_or(""))};
  if (memory.limit_bytes >= kNoLimitBytes) memory.limit_bytes = 0;
  return memory;
}

}  // namespace

std::optional<HostMemory> ReadHostMemory(const std::string& proc, const std::string& cgroups) {
  const std::string own = ReadFile(proc + "/self/cgroup").value_or("");
  for (const std::string_view line : base::Split(own, '\n')) {
    // "0::/path" of version 2, "9:memory:/path" of version 1.
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == line.npos ? first : first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    const auto names = base::Split(controllers, ',');
    if (controllers.empty()) {
      for (const std::string& folder : FoldersIn(cgroups, path)) {
        if (auto memory = ReadVersion2(folder)) return memory;
      }
    } else if (std::ranges::find(names, "memory") != names.end()) {
      for (const std::string& folder : FoldersIn(cgroups + "/memory", path)) {
        if (auto memory = ReadVersion1(folder)) return memory;
      }
    }
  }
  return std::nullopt;
}

HostMemory HostMemorySince(const HostMemory& before, const HostMemory& now) {
  return {.kills = now.kills - std::min(now.kills, before.kills),
          .limit_hits = now.limit_hits - std::min(now.limit_hits, before.limit_hits),
          .limit_bytes = now.limit_bytes,
          .peak_bytes = now.peak_bytes};
}

bool IsAtLimit(const HostMemory& memory) {
  const std::uint64_t full = memory.limit_bytes - memory.limit_bytes / kSpareShare;
  return memory.limit_bytes > 0 && (memory.limit_hits > 0 || memory.peak_bytes >= full);
}

}  // namespace eidolon::agent::launch
