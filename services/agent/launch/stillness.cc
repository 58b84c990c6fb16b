#include "services/agent/launch/stillness.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "services/agent/launch/proc_file.h"
#include "services/base/text.h"

namespace eidolon::agent::launch {
namespace {

namespace fs = std::filesystem;

// Shares of the time between two looks, with what a few short turns take besides.
constexpr std::int64_t kLeaderRunPerMille = 5;
constexpr std::int64_t kLeaderRunNs = 300'000;
constexpr std::int64_t kRunPerMille = 50;
constexpr std::int64_t kRunNs = 2'000'000;
constexpr std::int64_t kBusyPerMille = 500;  // Running, or kept from it by others.
constexpr std::int64_t kBusyNs = 5'000'000;

std::uint64_t Limit(std::int64_t window_ns, std::int64_t per_mille, std::int64_t at_least_ns) {
  return static_cast<std::uint64_t>(window_ns / 1000 * per_mille + at_least_ns);
}

}  // namespace

Stillness StillnessWatch::Judge(const Sample& now, const Sample* before, bool is_leader,
                                std::int64_t window_ns) const {
  const bool runs = now.state == 'R';
  if (now.state == 'D' || now.state == 'T' || now.state == 't') return Stillness::kWorking;
  if (before == nullptr) return runs ? Stillness::kWorking : Stillness::kStill;
  // It wanted to run all the time, and the machine did not let it.
  if (runs && before->state == 'R' && now.slices == before->slices) return Stillness::kWorking;
  const std::uint64_t ran = now.ran_ns - std::min(before->ran_ns, now.ran_ns);
  const std::uint64_t waited = now.waited_ns - std::min(before->waited_ns, now.waited_ns);
  const bool worked = ran > Limit(window_ns, kRunPerMille, kRunNs) ||
                      ran + waited > Limit(window_ns, kBusyPerMille, kBusyNs) ||
                      (is_leader && ran > Limit(window_ns, kLeaderRunPerMille, kLeaderRunNs));
  if (worked) return Stillness::kWorking;
  // A leader's turn may have woken somebody that was looked at before.
  const bool turned = runs || (is_leader && now.slices != before->slices);
  return turned ? Stillness::kPolling : Stillness::kStill;
}

Stillness StillnessWatch::Look(const std::vector<pid_t>& processes, const std::set<pid_t>& leaders,
                               std::int64_t now_ns) {
  const std::int64_t window_ns = std::max<std::int64_t>(now_ns - last_ns_, 0);
  last_ns_ = now_ns;
  const std::map<pid_t, Sample> before = std::exchange(last_, {});
  const auto caller = static_cast<pid_t>(syscall(SYS_gettid));
  Stillness all = Stillness::kStill;
  for (const pid_t process : processes) {
    ForEachProcEntry(fs::path(proc_) / std::to_string(process) / "task", [&](const fs::path& task) {
      const auto number = base::ParseInteger(task.filename().string());
      const auto stat = ParseProcStat(ReadProcFile(task / "stat"));
      if (!number || !stat) return;
      const auto thread = static_cast<pid_t>(*number);
      if (thread == caller) return;
      Sample& sample = last_[thread];
      sample.state = stat->state;
      // Without statistics of the scheduler the state alone counts.
      std::istringstream(ReadProcFile(task / "schedstat")) >> sample.ran_ns >> sample.waited_ns >>
          sample.slices;
      const auto found = before.find(thread);
      const Sample* earlier = found == before.end() ? nullptr : &found->second;
      const bool is_leader = thread == process && leaders.contains(process);
      all = std::max(all, Judge(sample, earlier, is_leader, window_ns));
    });
  }
  return all;
}

}  // namespace eidolon::agent::launch
