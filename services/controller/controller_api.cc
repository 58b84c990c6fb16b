// The controller's side of users: documents in, documents out.
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/controller/controller.h"

namespace eidolon::controller {

using base::ErrorCode;
using base::StrCat;
using nlohmann::json;
using rest::ApiError;
using rest::ApiResult;
using rest::ObjectName;

namespace {

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

ApiResult<std::optional<rest::Created>> Controller::FindRepeated(const std::string& name_space,
                                                                 const rest::IdempotencyKey& key) {
  const auto found = table_.FindRequest(name_space, key.key);
  if (!found) return Refuse(found.error());
  if (!*found) return std::nullopt;
  if ((*found)->body_digest != key.body_digest) {
    return Refuse(ErrorCode::kFailedPrecondition,
                  "the Idempotency-Key '" + key.key + "' was used with another body");
  }
  return rest::Created{JobTable::Render(*table_.Find((*found)->uid)), true};
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
  job::Resolve(parsed.spec, cluster == nullptr ? nullptr : &cluster->spec, gpus, problems);
}

ApiResult<rest::Created> Controller::CreateJob(const std::string& name_space, const json& document,
                                               const std::optional<rest::IdempotencyKey>& key) {
  job::ParsedJob parsed = job::ParseJob(document, job::Mode::kEmbedded);
  CheckNamespace(name_space, parsed.metadata, &parsed.problems);
  const auto gpus = parts_.simulators.ListGpus();
  if (!gpus) return Refuse(gpus.error());
  const std::lock_guard lock(mutex_);
  if (key) {
    auto repeated = FindRepeated(name_space, *key);
    if (!repeated) return std::unexpected(repeated.error());
    if (*repeated) return **repeated;
  }
  CheckCluster(
      name_space, parsed, [&] { return *gpus; }, &parsed.problems);
  if (!parsed.problems.empty()) return Refuse("simulation job", std::move(parsed.problems));
  job::Conditions conditions;
  const std::string now = job::FormatTime(parts_.clock.UnixNs());
  conditions.Set({std::string(job::condition::kAccepted), true, std::string(job::reason::kValid),
                  base::Join(parsed.warnings, "; "), now});
  const auto why = parsed.spec.suspend ? job::reason::kSuspended : job::reason::kQueued;
  conditions.Set({std::string(job::condition::kScheduled), false, std::string(why), "", now});
  std::optional<store::IdempotentRequest> request;
  if (key) request = {name_space, key->key, key->body_digest};
  auto entry = table_.Create(name_space, parsed, document, std::move(conditions), request);
  if (!entry) return Refuse(entry.error());
  base::Log(base::Level::kInfo, "job_accepted",
            {{"namespace", name_space}, {"job", (*entry)->name}});
  if (!parsed.spec.suspend) queue_.Add((*entry)->uid);
  PublishQueue();
  Wake();
  return rest::Created{JobTable::Render(**entry), false};
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
  const std::lock_guard lock(mutex_);
  const auto found = Get(job);
  if (!found) return std::unexpected(found.error());
  JobEntry& entry = **found;
  json object = JobTable::Render(entry);
  if (entry.active == nullptr && !entry.starting) {
    RemoveJob(entry.uid);
    PublishQueue();
    return object;
  }
  entry.delete_when_over = true;
  if (entry.active != nullptr) {
    entry.active->run().Interrupt(job::reason::kCancelled, "the job was deleted",
                                  parts_.clock.MonotonicNs());
  }
  object["metadata"]["deletionTimestamp"] = job::FormatTime(parts_.clock.UnixNs());
  Wake();
  return object;
}

ApiResult<json> Controller::SetSuspend(const ObjectName& job, bool suspend) {
  const std::lock_guard lock(mutex_);
  const auto found = Get(job);
  if (!found) return std::unexpected(found.error());
  JobEntry& entry = **found;
  if (entry.spec.suspend == suspend) return JobTable::Render(entry);
  if (entry.starting || entry.conditions.phase() != job::Phase::kPending) {
    return Refuse(ErrorCode::kFailedPrecondition,
                  "only a job that has not started can be suspended or resumed");
  }
  entry.spec.suspend = suspend;
  entry.document["spec"]["suspend"] = suspend;
  if (auto saved = table_.SaveDocument(&entry); !saved) return Refuse(saved.error());
  if (suspend) {
    queue_.Remove(entry.uid);
  } else {
    queue_.Add(entry.uid);
  }
  SetCondition(&entry, job::condition::kScheduled, false,
               suspend ? job::reason::kSuspended : job::reason::kQueued);
  table_.Publish(&entry, StatusOf(entry), JobTable::Save::kPower);
  PublishQueue();
  Wake();
  return JobTable::Render(entry);
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
  const bool over = (*entry)->active == nullptr && job::IsOver((*entry)->conditions.phase());
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
      if (entry->active != nullptr) return entry->active->parts().log.size() > offset;
      return job::IsOver(entry->conditions.phase());
    };
    log_grown_.wait_for(lock, timeout, has_more);
    const auto entry = Get(job);
    if (!entry) return std::unexpected(entry.error());
    path = table_.directory().log_path((*entry)->uid);
    over = (*entry)->active == nullptr && job::IsOver((*entry)->conditions.phase());
    over = over || stopping_;
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
  const std::lock_guard lock(mutex_);
  const auto entry = table_.CreateCluster(name_space, parsed, document);
  if (!entry) return Refuse(entry.error());
  return JobTable::Render(**entry);
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
  const std::lock_guard lock(mutex_);
  const ClusterEntry* entry = table_.FindCluster(cluster.name_space, cluster.name);
  if (entry == nullptr) return NoCluster(cluster);
  json object = JobTable::Render(*entry);
  if (auto deleted = table_.DeleteCluster(cluster.name_space, cluster.name); !deleted) {
    return Refuse(deleted.error());
  }
  return object;
}

base::Result<void> Controller::CheckReady() {
  {
    const std::lock_guard lock(mutex_);
    if (!started_ || stopping_) {
      return base::Fail(ErrorCode::kUnavailable, "the controller is starting or stopping");
    }
  }
  const auto gpus = parts_.simulators.ListGpus();
  if (!gpus) return std::unexpected(gpus.error());
  return {};
}

}  // namespace eidolon::controller
