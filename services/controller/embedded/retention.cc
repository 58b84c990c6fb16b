// Two limits work differently. Numbers and days remove whole jobs; the quota removes what jobs have
// left behind and keeps their results, which are small, and refuses new jobs once nothing is left
// to remove. Measuring the folder looks at every file and therefore happens without the lock, on
// figures that may be old when they are used: that is safe, because a job that is over never runs
// again and its uid is never used again. Jobs of an unfinished sweep stay, as the sweep would
// create them anew.
#include "services/controller/embedded/retention.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/controller/embedded/stored_object.h"
#include "services/controller/job/status.h"
#include "services/controller/sweep/plan.h"

namespace eidolon::controller::embedded {

using base::StrCat;
using job::FormatBytes;

namespace {

constexpr std::int64_t kDayNs = 86'400'000'000'000;

}  // namespace

std::vector<std::int64_t> Retention::FindRemovable() const {
  std::set<std::string> sweeps;  // Uids of those that would run their jobs again.
  for (const auto& [uid, sweep] : state_.table().sweeps().all()) {
    if (!sweep::IsSweepOver({{"status", sweep.status}})) sweeps.insert(std::to_string(uid));
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (const auto& [uid, entry] : state_.table().jobs()) {
    const bool over = entry.over_unix_ns != 0 && !entry.settling;
    if (!over || !entry.deletion_time.empty() || !entry.damage.empty()) continue;
    if (sweeps.contains(LabelOf(entry.document, sweep::kSweepUidLabel))) continue;
    found.emplace_back(entry.over_unix_ns, uid);
  }
  std::ranges::sort(found);
  std::vector<std::int64_t> uids;
  for (const auto& [over, uid] : found) uids.push_back(uid);
  return uids;
}

void Retention::RemoveOldJobs() {
  if (options_.keep_jobs == 0 && options_.keep_days == 0) return;
  const std::vector<std::int64_t> uids = FindRemovable();
  const bool too_many = options_.keep_jobs > 0 && uids.size() > options_.keep_jobs;
  std::size_t excess = too_many ? uids.size() - options_.keep_jobs : 0;
  const std::int64_t now_ns = state_.parts().clock.UnixNs();
  for (const std::int64_t uid : uids) {
    JobEntry* entry = state_.table().Find(uid);
    const std::int64_t days = (now_ns - entry->over_unix_ns) / kDayNs;
    const bool old =
        options_.keep_days > 0 && days >= static_cast<std::int64_t>(options_.keep_days);
    if (excess == 0 && !old) return;
    if (excess > 0) --excess;
    base::Log(base::Level::kInfo, "old_job_removed",
              {{"namespace", entry->name_space},
               {"job", entry->name},
               {"why", old ? StrCat("it ended ", days, " days ago")
                           : StrCat("more than ", options_.keep_jobs, " jobs are finished")}});
    state_.RemoveJob(entry);
  }
}

void Retention::HoldQuota() {
  const store::DataDirectory& directory = state_.table().directory();
  const store::DiskUsage usage = directory.MeasureUsage();
  std::uint64_t total = usage.total_bytes;
  std::vector<std::int64_t> uids;
  if (total > options_.data_bytes_max) {
    const std::lock_guard lock(state_.mutex());
    uids = FindRemovable();
  }
  for (const std::int64_t uid : uids) {
    if (total <= options_.data_bytes_max) break;
    const auto outputs = usage.outputs.find(uid);
    if (outputs == usage.outputs.end() || outputs->second == 0) continue;
    RemoveOutputs(uid, outputs->second);
    total -= outputs->second;
  }
  const std::lock_guard lock(state_.mutex());
  if (total <= options_.data_bytes_max) return state_.SetQuotaError("");
  state_.SetQuotaError(StrCat(
      "the data folder ", directory.path(), " holds ", FormatBytes(total),
      ", more than its quota of ", FormatBytes(options_.data_bytes_max),
      ", and no finished job has outputs left to remove; delete jobs ('eidolon delete NAME'), or "
      "start the server with a larger --data-quota"));
}

void Retention::RemoveOutputs(std::int64_t uid, std::uint64_t bytes) {
  state_.table().directory().RemoveOutputs(uid);
  const std::lock_guard lock(state_.mutex());
  JobEntry* entry = state_.table().Find(uid);
  if (entry == nullptr || !entry->deletion_time.empty()) return;
  base::Log(base::Level::kWarning, "outputs_removed",
            {{"namespace", entry->name_space}, {"job", entry->name}, {"bytes", StrCat(bytes)}});
  state_.table().AddWarning(entry,
                            StrCat("its log and outputs (", FormatBytes(bytes),
                                   ") were removed to keep the data folder within --data-quota"));
  state_.NotifyChanged();
}

}  // namespace eidolon::controller::embedded
