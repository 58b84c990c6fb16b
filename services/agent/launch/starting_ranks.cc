#include "services/agent/launch/starting_ranks.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "services/runtime/process/proc_file.h"

namespace eidolon::agent::launch {

namespace fs = std::filesystem;

std::uint64_t StartingRanks::SlicesOf(pid_t process) const {
  constexpr std::uint64_t kThread = std::uint64_t{1} << 48;
  std::uint64_t all = 0;
  process::ForEachProcEntry(fs::path(proc_) / std::to_string(process) / "task",
                            [&](const fs::path& task) {
                              std::uint64_t ran_ns = 0, waited_ns = 0, slices = 0;
                              std::istringstream(process::ReadProcFile(task / "schedstat")) >>
                                  ran_ns >> waited_ns >> slices;
                              all += slices + kThread;
                            });
  return all;
}

bool StartingRanks::AreAtRest(const std::vector<pid_t>& starting, std::int64_t now_ns) {
  std::erase_if(seen_, [&](const auto& entry) {
    return std::find(starting.begin(), starting.end(), entry.first) == starting.end();
  });
  bool all = true;
  for (const pid_t process : starting) {
    const std::uint64_t slices = SlicesOf(process);
    const auto [entry, is_new] = seen_.try_emplace(
        process, Seen{.slices = slices, .since_ns = now_ns, .last_ns = now_ns, .delay_ns = 0});
    Seen& seen = entry->second;
    if (slices != seen.slices) {
      seen.slices = slices;
      seen.since_ns = now_ns;
    }
    const bool rests = now_ns - seen.since_ns >= kRestNs;
    // Looks that are far apart have something else between them.
    if (!rests) seen.delay_ns += std::clamp<std::int64_t>(now_ns - seen.last_ns, 0, kRestNs / 2);
    seen.last_ns = now_ns;
    all = all && (rests || seen.delay_ns >= kLongestDelayNs);
  }
  return all;
}

}  // namespace eidolon::agent::launch
