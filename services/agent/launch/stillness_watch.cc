// A thread that polls and one that works look alike at a single moment, so two samples are
// compared: how long it ran, how long it waited for a processor, and how often it got one. Time
// waiting for a processor counts as work, because a loaded machine may keep a working thread off
// for the whole interval. Limits are shares of the interval plus a constant, or a short look would
// take a few turns of a poller for work. State D (a disk, or a call of the kernel that hangs) is
// work, but moves nothing when it persists.
#include "services/agent/launch/stillness_watch.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "services/base/text.h"
#include "services/runtime/process/proc_file.h"

namespace eidolon::agent::launch {
namespace {

namespace fs = std::filesystem;
using process::ForEachProcEntry;
using process::ParseProcStat;
using process::ReadProcFile;

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
  if (now.state == 'D') return Stillness::kWorking;
  if (now.state == 'T' || now.state == 't') return Stillness::kStopped;
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

// /proc/<pid>/io: what was read from and written to disks is at its end.
bool StillnessWatch::HasUsedDisk(pid_t process) {
  const std::string text = ReadProcFile(fs::path(proc_) / std::to_string(process) / "io");
  const std::size_t at = text.find("\nread_bytes:");
  if (at == std::string::npos) return false;
  std::string bytes = text.substr(at);
  const auto [known, is_new] = disk_.try_emplace(process, bytes);
  if (is_new || known->second == bytes) return false;
  known->second = std::move(bytes);
  return true;
}

std::optional<StillnessWatch::Sample> StillnessWatch::SampleOf(const fs::path& task,
                                                               std::int64_t now_ns) const {
  const auto stat = ParseProcStat(ReadProcFile(task / "stat"));
  if (!stat) return std::nullopt;
  Sample sample{.state = stat->state, .at_ns = now_ns};
  // Without statistics of the scheduler the state alone counts.
  std::istringstream(ReadProcFile(task / "schedstat")) >> sample.ran_ns >> sample.waited_ns >>
      sample.slices;
  return sample;
}

bool StillnessWatch::WorksStill(std::int64_t now_ns) {
  if (!worker_) return false;
  const fs::path task =
      fs::path(proc_) / std::to_string(worker_->process) / "task" / std::to_string(worker_->thread);
  const auto sample = SampleOf(task, now_ns);
  const auto earlier = last_.find(worker_->thread);
  const bool works = sample && sample->state != 'D' && earlier != last_.end() &&
                     Judge(*sample, &earlier->second, false, now_ns - earlier->second.at_ns) ==
                         Stillness::kWorking;
  if (works) {
    earlier->second = *sample;
  } else {
    worker_.reset();
  }
  return works;
}

Stillness StillnessWatch::Look(const std::vector<pid_t>& processes, const std::set<pid_t>& leaders,
                               std::int64_t now_ns) {
  const std::map<pid_t, Sample> before = std::exchange(last_, {});
  const auto caller = static_cast<pid_t>(syscall(SYS_gettid));
  Stillness all = Stillness::kStill;
  moved_ = false;
  worker_.reset();
  std::erase_if(disk_, [&](const auto& entry) {
    return std::find(processes.begin(), processes.end(), entry.first) == processes.end();
  });
  for (const pid_t process : processes) {
    // What this process itself does is about the others, and moves nothing.
    const bool counts = process != getpid();
    moved_ = (counts && HasUsedDisk(process)) || moved_;
    ForEachProcEntry(fs::path(proc_) / std::to_string(process) / "task", [&](const fs::path& task) {
      const auto number = base::ParseInteger(task.filename().string());
      if (!number) return;
      const auto thread = static_cast<pid_t>(*number);
      if (thread == caller) return;
      const auto taken = SampleOf(task, now_ns);
      if (!taken) return;
      const Sample& sample = last_[thread] = *taken;
      const auto found = before.find(thread);
      const Sample* earlier = found == before.end() ? nullptr : &found->second;
      const bool is_leader = thread == process && leaders.contains(process);
      const std::int64_t window_ns = earlier == nullptr ? 0 : now_ns - earlier->at_ns;
      const Stillness seen = Judge(sample, earlier, is_leader, window_ns);
      all = std::max(all, seen);
      // A disk that does not answer lets nothing move.
      const bool hangs = sample.state == 'D' && earlier != nullptr && earlier->state == 'D' &&
                         sample.slices == earlier->slices;
      if (!counts || seen != Stillness::kWorking || hangs) return;
      moved_ = true;
      worker_ = {.process = process, .thread = thread};
    });
  }
  return all;
}

}  // namespace eidolon::agent::launch
