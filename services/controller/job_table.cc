#include "services/controller/job_table.h"

#include <algorithm>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/controller/active_run.h"
#include "services/controller/job/document.h"
#include "services/controller/place/token.h"

namespace eidolon::controller {
namespace {

using base::ErrorCode;
using base::Result;
using base::StrCat;
using nlohmann::json;

constexpr std::size_t kNameBytesMax = 63;

// metadata and spec as the user gave them, with what the controller adds.
json AcceptedDocument(const std::string& name_space, const std::string& name,
                      const json& document) {
  json accepted = {{"apiVersion", document["apiVersion"]},
                   {"kind", document["kind"]},
                   {"metadata", {{"name", name}, {"namespace", name_space}, {"generation", 1}}},
                   {"spec", document["spec"]}};
  for (const char* field : {"labels", "annotations"}) {
    const auto found = document["metadata"].find(field);
    if (found != document["metadata"].end() && !found->is_null()) {
      accepted["metadata"][field] = *found;
    }
  }
  return accepted;
}

json ParseStored(const std::string& text) {
  json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return parsed.is_discarded() ? json::object() : parsed;
}

}  // namespace

JobEntry::JobEntry() = default;
JobEntry::JobEntry(JobEntry&&) noexcept = default;
JobEntry::~JobEntry() = default;

job::JobStatus StatusOf(const JobEntry& job) {
  job::JobStatus status;
  status.conditions = job.conditions;
  status.warnings = job.warnings;
  return status;
}

JobTable::JobTable(store::DataDirectory directory, store::JobStore store,
                   const base::RealClock& clock)
    : directory_(std::move(directory)), store_(std::move(store)), clock_(clock) {}

JobTable::~JobTable() = default;

std::int64_t JobTable::NextVersion() {
  last_version_ = std::max(last_version_ + 1, clock_.UnixNs() / 1'000'000);
  return last_version_;
}

Result<std::vector<std::int64_t>> JobTable::Load() {
  const auto clusters = store_.LoadClusters();
  if (!clusters) return std::unexpected(clusters.error());
  for (const store::StoredCluster& stored : *clusters) {
    const json document = ParseStored(stored.document);
    clusters_[{stored.name_space, stored.name}] = {.name_space = stored.name_space,
                                                   .name = stored.name,
                                                   .created_unix_ns = stored.created_unix_ns,
                                                   .document = document,
                                                   .spec = job::ParseCluster(document).spec};
  }
  const auto jobs = store_.LoadJobs();
  if (!jobs) return std::unexpected(jobs.error());
  std::vector<std::int64_t> waiting;
  for (const store::StoredJob& stored : *jobs) {
    if (auto loaded = LoadJob(stored, &waiting); !loaded) return std::unexpected(loaded.error());
  }
  return waiting;
}

Result<void> JobTable::LoadJob(const store::StoredJob& stored, std::vector<std::int64_t>* waiting) {
  JobEntry& entry = jobs_[stored.uid];
  entry.uid = stored.uid;
  entry.name_space = stored.name_space;
  entry.name = stored.name;
  entry.created_unix_ns = stored.created_unix_ns;
  entry.version = NextVersion();
  entry.document = ParseStored(stored.document);
  entry.status = ParseStored(stored.status);
  entry.spec = job::ParseJob(entry.document, job::Mode::kEmbedded).spec;
  entry.conditions = job::Conditions::FromJson(entry.status.value("conditions", json::array()));
  entry.warnings = entry.status.value("warnings", std::vector<std::string>{});
  const job::Phase phase = entry.conditions.phase();
  if (phase == job::Phase::kPending) {
    if (!entry.spec.suspend) waiting->push_back(entry.uid);
    return {};
  }
  entry.over_unix_ns = clock_.UnixNs();
  if (phase != job::Phase::kRunning) return {};
  const std::string now = job::FormatTime(clock_.UnixNs());
  entry.conditions.Set(
      {std::string(job::condition::kRunning), false, std::string(job::reason::kFinished), "", now});
  entry.conditions.Set({std::string(job::condition::kInterrupted), true,
                        std::string(job::reason::kControllerRestarted),
                        "the controller ended while the job ran; submit it again to repeat it",
                        now});
  // What was measured before stays in the status.
  entry.status["conditions"] = entry.conditions.ToJson();
  entry.status["phase"] = job::Name(job::Phase::kInterrupted);
  entry.status["completionTime"] = now;
  base::Log(base::Level::kWarning, "job_interrupted", {{"job", entry.name}});
  return store_.SaveStatus(entry.uid, entry.status.dump(), store::Durability::kPower);
}

JobEntry* JobTable::Find(std::int64_t uid) {
  const auto found = jobs_.find(uid);
  return found == jobs_.end() ? nullptr : &found->second;
}

JobEntry* JobTable::Find(const std::string& name_space, const std::string& name) {
  const auto found = std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& row) {
    return row.second.name == name && row.second.name_space == name_space;
  });
  return found == jobs_.end() ? nullptr : &found->second;
}

Result<JobEntry*> JobTable::Create(const std::string& name_space, const job::ParsedJob& parsed,
                                   const json& document, job::Conditions conditions,
                                   const std::optional<store::IdempotentRequest>& request) {
  std::string name = parsed.metadata.name;
  if (name.empty()) {
    name = parsed.metadata.generate_name.substr(0, kNameBytesMax - 6) + place::MakeToken(3);
  }
  JobEntry entry;
  entry.name_space = name_space;
  entry.name = name;
  entry.created_unix_ns = clock_.UnixNs();
  entry.document = AcceptedDocument(name_space, name, document);
  entry.spec = parsed.spec;
  entry.warnings = parsed.warnings;
  entry.conditions = std::move(conditions);
  entry.status = ToJson(StatusOf(entry));
  entry.version = NextVersion();
  const auto stored = store_.CreateJob({.name_space = name_space,
                                        .name = name,
                                        .created_unix_ns = entry.created_unix_ns,
                                        .document = entry.document.dump(),
                                        .status = entry.status.dump()},
                                       request);
  if (!stored) return std::unexpected(stored.error());
  entry.uid = stored->uid;
  return &jobs_.emplace(entry.uid, std::move(entry)).first->second;
}

void JobTable::Publish(JobEntry* job, const job::JobStatus& status, Save save) {
  job->status = ToJson(status);
  job->version = NextVersion();
  job->changed = false;
  job->published_ns = clock_.MonotonicNs();
  if (save == Save::kNo) return;
  const auto durability =
      save == Save::kPower ? store::Durability::kPower : store::Durability::kProcess;
  if (auto saved = store_.SaveStatus(job->uid, job->status.dump(), durability); !saved) {
    base::Log(base::Level::kError, "job_not_saved",
              {{"job", job->name}, {"error", saved.error().message}});
    job->changed = true;
    return;
  }
  job->saved_ns = job->published_ns;
}

Result<void> JobTable::SaveDocument(JobEntry* job) {
  job->version = NextVersion();
  return store_.SaveDocument(job->uid, job->document.dump());
}

void JobTable::Delete(std::int64_t uid) {
  if (auto deleted = store_.DeleteJob(uid); !deleted) {
    base::Log(base::Level::kError, "job_not_deleted", {{"error", deleted.error().message}});
  }
  directory_.RemoveJob(uid);
  jobs_.erase(uid);
}

json JobTable::Render(const JobEntry& job) {
  json object = job.document;
  json& metadata = object["metadata"];
  metadata["uid"] = std::to_string(job.uid);
  metadata["resourceVersion"] = std::to_string(job.version);
  metadata["creationTimestamp"] = job::FormatTime(job.created_unix_ns);
  object["status"] = job.status;
  return object;
}

Result<ClusterEntry*> JobTable::CreateCluster(const std::string& name_space,
                                              const job::ParsedCluster& parsed,
                                              const json& document) {
  std::string name = parsed.metadata.name;
  if (name.empty()) name = parsed.metadata.generate_name + place::MakeToken(3);
  ClusterEntry entry = {.name_space = name_space,
                        .name = name,
                        .created_unix_ns = clock_.UnixNs(),
                        .document = AcceptedDocument(name_space, name, document),
                        .spec = parsed.spec};
  auto stored =
      store_.CreateCluster({name_space, name, entry.created_unix_ns, entry.document.dump()});
  if (!stored) return std::unexpected(stored.error());
  return &clusters_.insert_or_assign({name_space, name}, std::move(entry)).first->second;
}

ClusterEntry* JobTable::FindCluster(const std::string& name_space, const std::string& name) {
  const auto found = clusters_.find({name_space, name});
  return found == clusters_.end() ? nullptr : &found->second;
}

std::vector<std::string> JobTable::ClusterNames(const std::string& name_space) const {
  std::vector<std::string> names;
  for (const auto& [key, cluster] : clusters_) {
    if (key.first == name_space) names.push_back(key.second);
  }
  return names;
}

Result<void> JobTable::DeleteCluster(const std::string& name_space, const std::string& name) {
  auto deleted = store_.DeleteCluster(name_space, name);
  if (deleted) clusters_.erase({name_space, name});
  return deleted;
}

json JobTable::Render(const ClusterEntry& cluster) {
  json object = cluster.document;
  object["metadata"]["creationTimestamp"] = job::FormatTime(cluster.created_unix_ns);
  object["status"] = {{"resolved", ToJson(cluster.spec)}};
  return object;
}

}  // namespace eidolon::controller
