// Every write follows one pattern: check under the lock, hand the write to the store, free the lock
// and wait for a bounded time. The answer is shared with the callback, because a caller may give up
// before the store is done, and a write that has begun may still take effect. The callback runs
// under the lock and changes the table, so the table never shows what is not stored. `creating_`
// closes the gap of idempotent requests: a repetition that comes while the first is being stored
// waits for that one's answer. The timing service is asked before the lock is taken.
#include "services/controller/embedded/embedded_api.h"

#include <algorithm>
#include <filesystem>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/embedded/await_list.h"
#include "services/controller/embedded/store_answers.h"

namespace eidolon::controller::embedded {

using base::ErrorCode;
using base::StrCat;
using nlohmann::json;
using rest::ApiError;
using rest::ApiResult;
using rest::ObjectName;

namespace {

constexpr std::chrono::milliseconds kDeleteLimit(2'000);

std::unexpected<ApiError> NoCluster(const ObjectName& cluster) {
  return Refuse(ErrorCode::kNotFound, StrCat("no simulated cluster '", cluster.name,
                                             "' in namespace '", cluster.name_space, "'"));
}

std::unexpected<ApiError> RefuseDamaged(const JobEntry& entry) {
  return Refuse(ErrorCode::kFailedPrecondition, StrCat("the stored record of the job '", entry.name,
                                                       "' is damaged: ", entry.damage));
}

// Returns the condition of a job that has not started.
job::Condition WaitsFor(bool suspend, const std::string& now) {
  const auto why = suspend ? job::reason::kSuspended : job::reason::kQueued;
  return {std::string(job::condition::kScheduled), false, std::string(why),
          suspend ? "spec.suspend is true: it starts once that is false" : "", now};
}

}  // namespace

ApiResult<JobEntry*> EmbeddedApi::Get(const ObjectName& job) {
  JobEntry* entry = table().Find(job.name_space, job.name);
  if (entry != nullptr) return entry;
  return Refuse(ErrorCode::kNotFound,
                StrCat("no simulation job '", job.name, "' in namespace '", job.name_space, "'"));
}

std::optional<ApiResult<rest::Created>> EmbeddedApi::FindRepeated(Lock* lock,
                                                                  const std::string& name_space,
                                                                  const rest::IdempotencyKey& key) {
  const auto other_body = [&] {
    return Refuse(ErrorCode::kFailedPrecondition,
                  "the Idempotency-Key '" + key.key + "' was used with another body");
  };
  if (const auto* found = table().FindRequest(name_space, key.key)) {
    if (found->request.body_digest != key.body_digest) return other_body();
    return rest::Created{JobTable::Render(*table().Find(found->uid)), true};
  }
  const auto found = creating_.find({name_space, key.key});
  if (found == creating_.end()) return std::nullopt;
  if (found->second.body_digest != key.body_digest) return other_body();
  const Creating first = found->second;
  if (auto stored = AwaitStored(&table(), lock, first.ticket); !stored) {
    return std::unexpected(stored.error());
  }
  ApiResult<rest::Created> answer = *first.answer;
  if (answer) answer->repeated = true;
  return answer;
}

void EmbeddedApi::CheckCluster(const std::string& name_space, const job::ParsedJob& parsed,
                               const job::KnownGpus& gpus, job::Problems* problems) {
  if (!parsed.spec.cluster && parsed.spec.cluster_name.empty()) return;  // Reported already.
  const ClusterEntry* cluster = table().FindCluster(name_space, parsed.spec.cluster_name);
  if (!parsed.spec.cluster && cluster == nullptr) {
    problems->push_back(
        {"/spec/clusterRef/name",
         StrCat("no simulated cluster '", parsed.spec.cluster_name, "' in namespace '", name_space,
                "'", job::DidYouMean(parsed.spec.cluster_name, table().ClusterNames(name_space)))});
    return;
  }
  if (!parsed.spec.cluster && !cluster->damage.empty()) {
    problems->push_back(
        {"/spec/clusterRef/name",
         StrCat("the stored record of simulated cluster '", cluster->name,
                "' is damaged: ", cluster->damage, "; delete it and create it anew")});
    return;
  }
  const std::size_t before = problems->size();
  job::ResolvedJob resolved =
      job::Resolve(parsed.spec, cluster == nullptr ? nullptr : &cluster->spec, gpus, problems);
  if (problems->size() == before) job::FoldJob(job::AvailableMemory(), {}, &resolved, problems);
}

ApiResult<rest::Created> EmbeddedApi::CreateJob(const std::string& name_space, const json& document,
                                                const std::optional<rest::IdempotencyKey>& key,
                                                const rest::Writer&) {
  job::ParsedJob parsed = job::ParseJob(document, job::Mode::kEmbedded);
  CheckNamespace(name_space, parsed.metadata, &parsed.problems);
  const auto gpus = state_.parts().simulators.ListGpus();
  if (!gpus) return Refuse(gpus.error());
  Lock lock(state_.mutex());
  if (key) {
    if (auto repeated = FindRepeated(&lock, name_space, *key)) return *repeated;
  }
  if (!state_.quota_error().empty()) return RefuseOverQuota(state_.quota_error());
  CheckCluster(
      name_space, parsed, [&] { return *gpus; }, &parsed.problems);
  if (!parsed.problems.empty()) return Refuse("simulation job", std::move(parsed.problems));
  job::Conditions conditions;
  const std::string now = base::FormatUtc(state_.parts().clock.UnixNs());
  conditions.Set({std::string(job::condition::kAccepted), true, std::string(job::reason::kValid),
                  base::Join(parsed.warnings, "; "), now});
  conditions.Set(WaitsFor(parsed.spec.suspend, now));
  std::optional<store::IdempotentRequest> request;
  if (key) request = {name_space, key->key, key->body_digest};
  const auto answer =
      std::make_shared<ApiResult<rest::Created>>(Refuse(ErrorCode::kInternal, "not answered"));
  const auto asked =
      table().Create(name_space, parsed, document, std::move(conditions), request,
                     [this, name_space, key, answer](const base::Result<JobEntry*>& entry) {
                       if (key) creating_.erase({name_space, key->key});
                       if (!entry) {
                         *answer = RefuseOfStore(table(), entry.error());
                         return;
                       }
                       Accept(*entry);
                       *answer = rest::Created{JobTable::Render(**entry), false};
                     });
  if (key && asked) creating_[{name_space, key->key}] = {key->body_digest, *asked, answer};
  if (auto stored = AwaitStored(&table(), &lock, asked); !stored)
    return std::unexpected(stored.error());
  return *answer;
}

void EmbeddedApi::Accept(JobEntry* entry) {
  base::Log(base::Level::kInfo, "job_accepted",
            {{"namespace", entry->name_space}, {"job", entry->name}});
  if (!entry->spec.suspend) state_.queue().Add(entry->uid);
  state_.PublishQueue();
  state_.Wake();
}

ApiResult<std::vector<json>> EmbeddedApi::ListJobs(const std::string& name_space) {
  const std::lock_guard lock(state_.mutex());
  std::vector<json> objects;
  for (const auto& [uid, entry] : table().jobs()) {
    if (name_space.empty() || entry.name_space == name_space) {
      objects.push_back(JobTable::Render(entry));
    }
  }
  return objects;
}

ApiResult<json> EmbeddedApi::GetJob(const ObjectName& job) {
  const std::lock_guard lock(state_.mutex());
  const auto entry = Get(job);
  if (!entry) return std::unexpected(entry.error());
  return JobTable::Render(**entry);
}

ApiResult<json> EmbeddedApi::DeleteJob(const ObjectName& job, const rest::Writer&) {
  Lock lock(state_.mutex());
  const auto found = Get(job);
  if (!found) return std::unexpected(found.error());
  JobEntry& entry = **found;
  const std::int64_t uid = entry.uid;
  json object = JobTable::Render(entry);
  if (entry.starting) state_.TakeBackStart(&entry);
  const bool busy = entry.active != nullptr || entry.starting || entry.ending;
  const bool first = entry.deletion_time.empty();
  if (first) entry.deletion_time = base::FormatUtc(state_.parts().clock.UnixNs());
  object["metadata"]["deletionTimestamp"] = entry.deletion_time;
  if (!busy && (first || entry.delete_when_over)) {
    entry.delete_when_over = false;
    state_.RemoveJob(&entry);
  }
  if (!busy) {
    // It is repeated until it is stored, so that it is only a question of when.
    const auto is_gone = [&] { return table().Find(uid) == nullptr; };
    if (!state_.AwaitChange(&lock, kDeleteLimit, is_gone)) return object;
    object["metadata"].erase("deletionTimestamp");
    return object;
  }
  entry.delete_when_over = true;
  if (entry.active != nullptr) {
    entry.active->run().Interrupt(job::reason::kCancelled, "the job was deleted",
                                  state_.parts().clock.MonotonicNs());
  }
  state_.Wake();
  return object;
}

ApiResult<json> EmbeddedApi::SetSuspend(const ObjectName& job, bool suspend, const rest::Writer&) {
  Lock lock(state_.mutex());
  const auto found = Get(job);
  if (!found) return std::unexpected(found.error());
  JobEntry& entry = **found;
  if (entry.changing) {
    return Refuse(ErrorCode::kAlreadyExists, "another change of the job is being stored");
  }
  if (!entry.damage.empty()) return RefuseDamaged(entry);
  if (entry.spec.suspend == suspend) return JobTable::Render(entry);
  if (entry.starting || entry.conditions.phase() != job::Phase::kPending ||
      !entry.deletion_time.empty()) {
    return Refuse(ErrorCode::kFailedPrecondition,
                  "only a job that has not started can be suspended or resumed");
  }
  json document = entry.document;
  document["spec"]["suspend"] = suspend;
  job::Conditions conditions = entry.conditions;
  conditions.Set(WaitsFor(suspend, base::FormatUtc(state_.parts().clock.UnixNs())));
  const auto answer = std::make_shared<ApiResult<json>>();
  const auto asked =
      table().Replace(&entry, std::move(document), std::move(conditions),
                      [this, suspend, answer](JobEntry* changed, const base::Result<void>& stored) {
                        if (changed == nullptr) {
                          *answer = Refuse(ErrorCode::kNotFound, "the job was deleted meanwhile");
                          return;
                        }
                        if (stored) changed->spec.suspend = suspend;
                        const bool waits = !changed->spec.suspend && changed->deletion_time.empty();
                        if (waits) state_.queue().Add(changed->uid);
                        state_.PublishQueue();
                        state_.Wake();
                        *answer = stored ? ApiResult<json>(JobTable::Render(*changed))
                                         : ApiResult<json>(RefuseOfStore(table(), stored.error()));
                      });
  // It must not begin meanwhile.
  if (asked && suspend) state_.queue().Remove(entry.uid);
  if (auto stored = AwaitStored(&table(), &lock, asked); !stored)
    return std::unexpected(stored.error());
  return *answer;
}

ApiResult<rest::JobChange> EmbeddedApi::AwaitChange(const ObjectName& job, std::int64_t after,
                                                    std::chrono::milliseconds timeout) {
  Lock lock(state_.mutex());
  const auto is_there = [&] {
    const JobEntry* entry = table().Find(job.name_space, job.name);
    return state_.is_stopping() || entry == nullptr || entry->version > after;
  };
  state_.AwaitChange(&lock, timeout, is_there);
  const auto entry = Get(job);
  if (!entry) return std::unexpected(entry.error());
  const bool over = (*entry)->over_unix_ns != 0;
  if (state_.is_stopping() && !over)
    return Refuse(ErrorCode::kUnavailable, "the controller is being stopped");
  return rest::JobChange{JobTable::Render(**entry), (*entry)->version, over};
}

ApiResult<rest::ListChange> EmbeddedApi::AwaitJobs(const std::string& name_space,
                                                   std::int64_t after, std::size_t known,
                                                   std::chrono::milliseconds timeout) {
  return AwaitList(
      &state_, [&]() -> const auto& { return table().jobs(); }, name_space, after, known, timeout,
      [](const JobEntry& entry) { return JobTable::RenderSummary(entry); });
}

ApiResult<rest::LogPart> EmbeddedApi::ReadLog(const ObjectName& job, std::uint64_t offset,
                                              std::chrono::milliseconds timeout) {
  constexpr std::size_t kChunkBytes = 256 * 1024;
  std::string path;
  bool over = false;
  {
    Lock lock(state_.mutex());
    const auto has_more = [&] {
      const JobEntry* entry = table().Find(job.name_space, job.name);
      if (state_.is_stopping() || entry == nullptr) return true;
      if (entry->active != nullptr) return entry->active->parts().log->size() > offset;
      return entry->over_unix_ns != 0;
    };
    state_.AwaitLog(&lock, timeout, has_more);
    const auto entry = Get(job);
    if (!entry) return std::unexpected(entry.error());
    path = table().directory().log_path((*entry)->uid);
    over = (*entry)->over_unix_ns != 0 || state_.is_stopping();
  }
  const auto chunk = store::ReadLog(path, offset, kChunkBytes);
  if (!chunk) return Refuse(chunk.error());
  return rest::LogPart{chunk->entries, chunk->next_offset, over && chunk->next_offset == offset};
}

ApiResult<rest::Output> EmbeddedApi::FindTimeline(const ObjectName& job,
                                                  const std::string& /*token*/) {
  const std::lock_guard lock(state_.mutex());
  const auto entry = Get(job);
  if (!entry) return std::unexpected(entry.error());
  return FindOutput(**entry, {.what = "timeline",
                              .is_kept = (*entry)->spec.timeline.iterations > 0,
                              .field = "timeline: {iterations: 1}",
                              .path = table().directory().timeline_path((*entry)->uid)});
}

ApiResult<rest::Output> EmbeddedApi::FindRecording(const ObjectName& job,
                                                   const std::string& /*token*/) {
  const std::lock_guard lock(state_.mutex());
  const auto entry = Get(job);
  if (!entry) return std::unexpected(entry.error());
  return FindOutput(**entry, {.what = "recording",
                              .is_kept = (*entry)->spec.recording,
                              .field = "recording: true",
                              .path = table().directory().recording_path((*entry)->uid)});
}

// The file that a job leaves. Requires: the lock is held.
ApiResult<rest::Output> EmbeddedApi::FindOutput(const JobEntry& entry, const KeptFile& file) const {
  if (!entry.damage.empty()) return RefuseDamaged(entry);
  if (!file.is_kept) {
    return Refuse(ErrorCode::kNotFound, StrCat("the job '", entry.name, "' keeps no ", file.what,
                                               "; jobs with 'outputs: {", file.field, "}' do"));
  }
  if (entry.over_unix_ns == 0) {
    return Refuse(ErrorCode::kFailedPrecondition, StrCat("the ", file.what, " of '", entry.name,
                                                         "' is there when the job is over"));
  }
  std::error_code ignored;
  if (std::filesystem::exists(file.path, ignored)) return rest::Output{.path = file.path};
  return Refuse(ErrorCode::kNotFound,
                StrCat("the job '", entry.name, "' has left no ", file.what, ": ",
                       entry.warnings.empty() ? "it never ran" : base::Join(entry.warnings, "; ")));
}

ApiResult<json> EmbeddedApi::CreateCluster(const std::string& name_space, const json& document,
                                           const rest::Writer&) {
  job::ParsedCluster parsed = job::ParseCluster(document);
  CheckNamespace(name_space, parsed.metadata, &parsed.problems);
  const auto gpus = state_.parts().simulators.ListGpus();
  if (!gpus) return Refuse(gpus.error());
  job::CheckGpu(
      parsed.spec, "/spec", [&] { return *gpus; }, &parsed.problems);
  if (!parsed.problems.empty()) return Refuse("simulated cluster", std::move(parsed.problems));
  Lock lock(state_.mutex());
  const auto answer = std::make_shared<ApiResult<json>>();
  const auto asked = table().CreateCluster(
      name_space, parsed, document, [this, answer](const base::Result<ClusterEntry*>& entry) {
        *answer = entry ? ApiResult<json>(JobTable::Render(**entry))
                        : ApiResult<json>(RefuseOfStore(table(), entry.error()));
      });
  if (auto stored = AwaitStored(&table(), &lock, asked); !stored)
    return std::unexpected(stored.error());
  return *answer;
}

ApiResult<std::vector<json>> EmbeddedApi::ListClusters(const std::string& name_space) {
  const std::lock_guard lock(state_.mutex());
  std::vector<json> objects;
  for (const auto& [key, entry] : table().clusters()) {
    if (name_space.empty() || entry.name_space == name_space) {
      objects.push_back(JobTable::Render(entry));
    }
  }
  return objects;
}

ApiResult<json> EmbeddedApi::GetCluster(const ObjectName& cluster) {
  const std::lock_guard lock(state_.mutex());
  const ClusterEntry* entry = table().FindCluster(cluster.name_space, cluster.name);
  if (entry == nullptr) return NoCluster(cluster);
  return JobTable::Render(*entry);
}

ApiResult<json> EmbeddedApi::DeleteCluster(const ObjectName& cluster, const rest::Writer&) {
  Lock lock(state_.mutex());
  const ClusterEntry* entry = table().FindCluster(cluster.name_space, cluster.name);
  if (entry == nullptr) return NoCluster(cluster);
  const json object = JobTable::Render(*entry);
  const auto answer = std::make_shared<base::Result<void>>();
  const auto asked =
      table().DeleteCluster(cluster.name_space, cluster.name,
                            [answer](const base::Result<void>& deleted) { *answer = deleted; });
  if (auto stored = AwaitStored(&table(), &lock, asked); !stored)
    return std::unexpected(stored.error());
  if (!*answer) return RefuseOfStore(table(), answer->error());
  return object;
}

base::Result<void> EmbeddedApi::CheckReady() {
  {
    const std::lock_guard lock(state_.mutex());
    if (!state_.is_started() || state_.is_stopping()) {
      return base::Fail(ErrorCode::kUnavailable, "the controller is starting or stopping");
    }
  }
  const store::StoreState store = table().store_state();
  if (!store.writable) {
    return base::Fail(ErrorCode::kUnavailable,
                      RefuseOfStore(table(), store.writable.error()).error().message);
  }
  const auto gpus = state_.parts().simulators.ListGpus();
  if (!gpus) return std::unexpected(gpus.error());
  return {};
}

std::string EmbeddedApi::MetricsText() {
  {
    const std::lock_guard lock(state_.mutex());
    const store::StoreState store = table().store_state();
    state_.parts().metrics.SetStore(store.writable.has_value(), store.unsaved, store.failed_writes);
  }
  return state_.parts().metrics_text();
}

}  // namespace eidolon::controller::embedded
