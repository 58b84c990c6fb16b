// The controller's side of users: documents in, documents out.
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/embedded/controller.h"

namespace eidolon::controller::embedded {

using base::ErrorCode;
using base::StrCat;
using nlohmann::json;
using rest::ApiError;
using rest::ApiResult;
using rest::ObjectName;

namespace {

// How long a user waits for the disk.
constexpr std::chrono::milliseconds kAnswerLimit(5'000);
constexpr std::chrono::milliseconds kDeleteLimit(2'000);

std::unexpected<ApiError> Refuse(ErrorCode code, std::string message) {
  return std::unexpected(ApiError{code, std::move(message), {}});
}

std::unexpected<ApiError> Refuse(const base::Error& error) {
  return Refuse(error.code, error.message);
}

std::unexpected<ApiError> Refuse(std::string_view kind, job::Problems problems) {
  return std::unexpected(ApiError{
      ErrorCode::kInvalidArgument,
      StrCat("the ", kind, " has ", problems.size(), " problem(s): ", job::Describe(problems)),
      std::move(problems)});
}

std::unexpected<ApiError> NoCluster(const ObjectName& cluster) {
  return Refuse(ErrorCode::kNotFound, StrCat("no simulated cluster '", cluster.name,
                                             "' in namespace '", cluster.name_space, "'"));
}

// The namespace of the path is the one that counts; a document must not contradict it.
void CheckNamespace(const std::string& name_space, const job::Metadata& metadata,
                    job::Problems* problems) {
  if (metadata.name_space.empty() || metadata.name_space == name_space) return;
  problems->push_back(
      {"/metadata/namespace", StrCat("is '", metadata.name_space,
                                     "', but the request goes to namespace '", name_space, "'")});
}

}  // namespace

ApiResult<JobEntry*> Controller::Get(const ObjectName& job) {
  JobEntry* entry = table_.Find(job.name_space, job.name);
  if (entry != nullptr) return entry;
  return Refuse(ErrorCode::kNotFound,
                StrCat("no simulation job '", job.name, "' in namespace '", job.name_space, "'"));
}

std::unexpected<ApiError> Controller::RefuseOfStore(const base::Error& error) {
  // What was asked for is not possible, whatever the disk does.
  if (error.code == ErrorCode::kAlreadyExists) return Refuse(error);
  const bool full = error.code == ErrorCode::kResourceExhausted;
  return std::unexpected(
      ApiError{.code = full ? error.code : ErrorCode::kUnavailable,
               .message = StrCat("the store cannot be written: ", error.message, "; ",
                                 store::WayOut(error, table_.directory().path())),
               .problems = {},
               .disk_full = full});
}

ApiResult<void> Controller::AwaitStored(std::unique_lock<std::mutex>* lock,
                                        const JobTable::Asked& asked) {
  lock->unlock();
  if (!asked) return RefuseOfStore(asked.error());
  const auto end = (*asked)->Wait(kAnswerLimit);
  if (end == store::Ticket::End::kDone) return {};
  const auto writable = table_.store_state().writable;
  const std::string why = writable
                              ? StrCat("the disk of ", table_.directory().path(),
                                       " has not answered for ", kAnswerLimit.count() / 1000, " s")
                              : RefuseOfStore(writable.error()).error().message;
  return Refuse(ErrorCode::kUnavailable,
                why + (end == store::Ticket::End::kWithdrawn
                           ? "; nothing was changed, so try again"
                           : "; whether the change is stored is not known yet: ask for the object, "
                             "or repeat the request with the same Idempotency-Key"));
}

std::optional<ApiResult<rest::Created>> Controller::FindRepeated(std::unique_lock<std::mutex>* lock,
                                                                 const std::string& name_space,
                                                                 const rest::IdempotencyKey& key) {
  const auto other_body = [&] {
    return Refuse(ErrorCode::kFailedPrecondition,
                  "the Idempotency-Key '" + key.key + "' was used with another body");
  };
  if (const auto* found = table_.FindRequest(name_space, key.key)) {
    if (found->request.body_digest != key.body_digest) return other_body();
    return rest::Created{JobTable::Render(*table_.Find(found->uid)), true};
  }
  const auto found = creating_.find({name_space, key.key});
  if (found == creating_.end()) return std::nullopt;
  if (found->second.body_digest != key.body_digest) return other_body();
  const Creating first = found->second;
  if (auto stored = AwaitStored(lock, first.ticket); !stored) {
    return std::unexpected(stored.error());
  }
  ApiResult<rest::Created> answer = *first.answer;
  if (answer) answer->repeated = true;
  return answer;
}

void Controller::CheckCluster(const std::string& name_space, const job::ParsedJob& parsed,
                              const job::KnownGpus& gpus, job::Problems* problems) {
  if (!parsed.spec.cluster && parsed.spec.cluster_name.empty()) return;  // Reported already.
  const ClusterEntry* cluster = table_.FindCluster(name_space, parsed.spec.cluster_name);
  if (!parsed.spec.cluster && cluster == nullptr) {
    problems->push_back(
        {"/spec/clusterRef/name",
         StrCat("no simulated cluster '", parsed.spec.cluster_name, "' in namespace '", name_space,
                "'", job::DidYouMean(parsed.spec.cluster_name, table_.ClusterNames(name_space)))});
    return;
  }
  const std::size_t before = problems->size();
  job::ResolvedJob resolved =
      job::Resolve(parsed.spec, cluster == nullptr ? nullptr : &cluster->spec, gpus, problems);
  if (problems->size() == before) job::FoldJob(job::AvailableMemory(), &resolved, problems);
}

ApiResult<rest::Created> Controller::CreateJob(const std::string& name_space, const json& document,
                                               const std::optional<rest::IdempotencyKey>& key) {
  job::ParsedJob parsed = job::ParseJob(document, job::Mode::kEmbedded);
  CheckNamespace(name_space, parsed.metadata, &parsed.problems);
  const auto gpus = parts_.simulators.ListGpus();
  if (!gpus) return Refuse(gpus.error());
  std::unique_lock lock(mutex_);
  if (key) {
    if (auto repeated = FindRepeated(&lock, name_space, *key)) return *repeated;
  }
  CheckCluster(
      name_space, parsed, [&] { return *gpus; }, &parsed.problems);
  if (!parsed.problems.empty()) return Refuse("simulation job", std::move(parsed.problems));
  job::Conditions conditions;
  const std::string now = base::FormatUtc(parts_.clock.UnixNs());
  conditions.Set({std::string(job::condition::kAccepted), true, std::string(job::reason::kValid),
                  base::Join(parsed.warnings, "; "), now});
  const auto why = parsed.spec.suspend ? job::reason::kSuspended : job::reason::kQueued;
  conditions.Set({std::string(job::condition::kScheduled), false, std::string(why), "", now});
  std::optional<store::IdempotentRequest> request;
  if (key) request = {name_space, key->key, key->body_digest};
  const auto answer =
      std::make_shared<ApiResult<rest::Created>>(Refuse(ErrorCode::kInternal, "not answered"));
  const auto asked =
      table_.Create(name_space, parsed, document, std::move(conditions), request,
                    [this, name_space, key, answer](const base::Result<JobEntry*>& entry) {
                      if (key) creating_.erase({name_space, key->key});
                      if (!entry) {
                        *answer = RefuseOfStore(entry.error());
                        return;
                      }
                      Accept(*entry);
                      *answer = rest::Created{JobTable::Render(**entry), false};
                    });
  if (key && asked) creating_[{name_space, key->key}] = {key->body_digest, *asked, answer};
  if (auto stored = AwaitStored(&lock, asked); !stored) return std::unexpected(stored.error());
  return *answer;
}

void Controller::Accept(JobEntry* entry) {
  base::Log(base::Level::kInfo, "job_accepted",
            {{"namespace", entry->name_space}, {"job", entry->name}});
  if (!entry->spec.suspend) queue_.Add(entry->uid);
  PublishQueue();
  Wake();
}

ApiResult<std::vector<json>> Controller::ListJobs(const std::string& name_space) {
  const std::lock_guard lock(mutex_);
  std::vector<json> objects;
  for (const auto& [uid, entry] : table_.jobs()) {
    if (name_space.empty() || entry.name_space == name_space) {
      objects.push_back(JobTable::Render(entry));
    }
  }
  return objects;
}

ApiResult<json> Controller::GetJob(const ObjectName& job) {
  const std::lock_guard lock(mutex_);
  const auto entry = Get(job);
  if (!entry) return std::unexpected(entry.error());
  return JobTable::Render(**entry);
}

ApiResult<json> Controller::DeleteJob(const ObjectName& job) {
  std::unique_lock lock(mutex_);
  const auto found = Get(job);
  if (!found) return std::unexpected(found.error());
  JobEntry& entry = **found;
  const std::int64_t uid = entry.uid;
  json object = JobTable::Render(entry);
  if (entry.starting) TakeBackStart(&entry);
  const bool busy = entry.active != nullptr || entry.starting || entry.ending;
  const bool first = entry.deletion_time.empty();
  if (first) entry.deletion_time = base::FormatUtc(parts_.clock.UnixNs());
  object["metadata"]["deletionTimestamp"] = entry.deletion_time;
  if (!busy && (first || entry.delete_when_over)) {
    entry.delete_when_over = false;
    RemoveJob(&entry);
  }
  if (!busy) {
    // It is repeated until it is stored, so that it is only a question of when.
    const auto is_gone = [&] { return table_.Find(uid) == nullptr; };
    if (!changed_.wait_for(lock, kDeleteLimit, is_gone)) return object;
    object["metadata"].erase("deletionTimestamp");
    return object;
  }
  entry.delete_when_over = true;
  if (entry.active != nullptr) {
    entry.active->run().Interrupt(job::reason::kCancelled, "the job was deleted",
                                  parts_.clock.MonotonicNs());
  }
  Wake();
  return object;
}

ApiResult<json> Controller::SetSuspend(const ObjectName& job, bool suspend) {
  std::unique_lock lock(mutex_);
  const auto found = Get(job);
  if (!found) return std::unexpected(found.error());
  JobEntry& entry = **found;
  if (entry.changing) {
    return Refuse(ErrorCode::kAlreadyExists, "another change of the job is being stored");
  }
  if (entry.spec.suspend == suspend) return JobTable::Render(entry);
  if (entry.starting || entry.conditions.phase() != job::Phase::kPending ||
      !entry.deletion_time.empty()) {
    return Refuse(ErrorCode::kFailedPrecondition,
                  "only a job that has not started can be suspended or resumed");
  }
  json document = entry.document;
  document["spec"]["suspend"] = suspend;
  job::Conditions conditions = entry.conditions;
  conditions.Set({std::string(job::condition::kScheduled), false,
                  std::string(suspend ? job::reason::kSuspended : job::reason::kQueued), "",
                  base::FormatUtc(parts_.clock.UnixNs())});
  const auto answer = std::make_shared<ApiResult<json>>();
  const auto asked =
      table_.Replace(&entry, std::move(document), std::move(conditions),
                     [this, suspend, answer](JobEntry* changed, const base::Result<void>& stored) {
                       if (changed == nullptr) {
                         *answer = Refuse(ErrorCode::kNotFound, "the job was deleted meanwhile");
                         return;
                       }
                       if (stored) changed->spec.suspend = suspend;
                       const bool waits = !changed->spec.suspend && changed->deletion_time.empty();
                       if (waits) queue_.Add(changed->uid);
                       PublishQueue();
                       Wake();
                       *answer = stored ? ApiResult<json>(JobTable::Render(*changed))
                                        : ApiResult<json>(RefuseOfStore(stored.error()));
                     });
  // It must not begin meanwhile.
  if (asked && suspend) queue_.Remove(entry.uid);
  if (auto stored = AwaitStored(&lock, asked); !stored) return std::unexpected(stored.error());
  return *answer;
}

ApiResult<rest::JobChange> Controller::AwaitChange(const ObjectName& job, std::int64_t after,
                                                   std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto is_there = [&] {
    const JobEntry* entry = table_.Find(job.name_space, job.name);
    return stopping_ || entry == nullptr || entry->version > after;
  };
  changed_.wait_for(lock, timeout, is_there);
  const auto entry = Get(job);
  if (!entry) return std::unexpected(entry.error());
  const bool over = (*entry)->over_unix_ns != 0;
  if (stopping_ && !over) return Refuse(ErrorCode::kUnavailable, "the controller is being stopped");
  return rest::JobChange{JobTable::Render(**entry), (*entry)->version, over};
}

ApiResult<rest::LogPart> Controller::ReadLog(const ObjectName& job, std::uint64_t offset,
                                             std::chrono::milliseconds timeout) {
  constexpr std::size_t kChunkBytes = 256 * 1024;
  std::string path;
  bool over = false;
  {
    std::unique_lock lock(mutex_);
    const auto has_more = [&] {
      const JobEntry* entry = table_.Find(job.name_space, job.name);
      if (stopping_ || entry == nullptr) return true;
      if (entry->active != nullptr) return entry->active->parts().log->size() > offset;
      return entry->over_unix_ns != 0;
    };
    log_grown_.wait_for(lock, timeout, has_more);
    const auto entry = Get(job);
    if (!entry) return std::unexpected(entry.error());
    path = table_.directory().log_path((*entry)->uid);
    over = (*entry)->over_unix_ns != 0 || stopping_;
  }
  const auto chunk = store::ReadLog(path, offset, kChunkBytes);
  if (!chunk) return Refuse(chunk.error());
  return rest::LogPart{chunk->entries, chunk->next_offset, over && chunk->next_offset == offset};
}

ApiResult<json> Controller::CreateCluster(const std::string& name_space, const json& document) {
  job::ParsedCluster parsed = job::ParseCluster(document);
  CheckNamespace(name_space, parsed.metadata, &parsed.problems);
  const auto gpus = parts_.simulators.ListGpus();
  if (!gpus) return Refuse(gpus.error());
  job::CheckGpu(
      parsed.spec, "/spec", [&] { return *gpus; }, &parsed.problems);
  if (!parsed.problems.empty()) return Refuse("simulated cluster", std::move(parsed.problems));
  std::unique_lock lock(mutex_);
  const auto answer = std::make_shared<ApiResult<json>>();
  const auto asked = table_.CreateCluster(
      name_space, parsed, document, [this, answer](const base::Result<ClusterEntry*>& entry) {
        *answer = entry ? ApiResult<json>(JobTable::Render(**entry))
                        : ApiResult<json>(RefuseOfStore(entry.error()));
      });
  if (auto stored = AwaitStored(&lock, asked); !stored) return std::unexpected(stored.error());
  return *answer;
}

ApiResult<std::vector<json>> Controller::ListClusters(const std::string& name_space) {
  const std::lock_guard lock(mutex_);
  std::vector<json> objects;
  for (const auto& [key, entry] : table_.clusters()) {
    if (name_space.empty() || entry.name_space == name_space) {
      objects.push_back(JobTable::Render(entry));
    }
  }
  return objects;
}

ApiResult<json> Controller::GetCluster(const ObjectName& cluster) {
  const std::lock_guard lock(mutex_);
  const ClusterEntry* entry = table_.FindCluster(cluster.name_space, cluster.name);
  if (entry == nullptr) return NoCluster(cluster);
  return JobTable::Render(*entry);
}

ApiResult<json> Controller::DeleteCluster(const ObjectName& cluster) {
  std::unique_lock lock(mutex_);
  const ClusterEntry* entry = table_.FindCluster(cluster.name_space, cluster.name);
  if (entry == nullptr) return NoCluster(cluster);
  const json object = JobTable::Render(*entry);
  const auto answer = std::make_shared<base::Result<void>>();
  const auto asked =
      table_.DeleteCluster(cluster.name_space, cluster.name,
                           [answer](const base::Result<void>& deleted) { *answer = deleted; });
  if (auto stored = AwaitStored(&lock, asked); !stored) return std::unexpected(stored.error());
  if (!*answer) return RefuseOfStore(answer->error());
  return object;
}

base::Result<void> Controller::CheckReady() {
  {
    const std::lock_guard lock(mutex_);
    if (!started_ || stopping_) {
      return base::Fail(ErrorCode::kUnavailable, "the controller is starting or stopping");
    }
  }
  const store::StoreState store = table_.store_state();
  if (!store.writable) {
    return base::Fail(ErrorCode::kUnavailable,
                      RefuseOfStore(store.writable.error()).error().message);
  }
  const auto gpus = parts_.simulators.ListGpus();
  if (!gpus) return std::unexpected(gpus.error());
  return {};
}

std::string Controller::MetricsText() {
  {
    const std::lock_guard lock(mutex_);
    const store::StoreState store = table_.store_state();
    parts_.metrics.SetStore(store.writable.has_value(), store.unsaved, store.failed_writes);
  }
  return parts_.metrics_text();
}

}  // namespace eidolon::controller::embedded
