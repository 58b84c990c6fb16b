// The table shows the status that is stored, while `conditions` are already those of a transition
// that is on its way; Settle brings the two together. Versions are not stored: they continue at the
// milliseconds since 1970, so they grow over restarts as long as fewer than 1000 a second are used,
// and a watcher's last version stays valid. After a failed write is_stored recognizes an object by
// its name and creation time, as another object may have the name meanwhile. Damaged records are
// loaded last, so that one never takes the name of an intact job. A deletion removes files before
// the row: a crash in between leaves a job without files, and no file without a job.
#include "services/controller/embedded/job_table.h"

#include <algorithm>
#include <tuple>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/embedded/active_run.h"
#include "services/controller/embedded/stored_object.h"
#include "services/controller/job/document.h"
#include "services/controller/job/summary.h"
#include "services/controller/store/record_form.h"

namespace eidolon::controller::embedded {
namespace {

using base::ErrorCode;
using base::Result;
using base::StrCat;
using nlohmann::json;

struct ObjectId {
  std::string name_space;
  std::string name;
  std::int64_t uid = 0;
};

std::optional<std::int64_t> EndOf(const json& status) {
  const auto found = status.find("completionTime");
  if (found == status.end() || !found->is_string()) return std::nullopt;
  return base::ParseUtc(found->get<std::string>());
}

// Returns whether the store has a cluster.
Result<bool> Holds(store::JobStore& store, const std::string& name_space, const std::string& name) {
  const auto clusters = store.LoadClusters();
  if (!clusters) return std::unexpected(clusters.error());
  return std::any_of(clusters->begin(), clusters->end(), [&](const store::StoredCluster& row) {
    return row.name_space == name_space && row.name == name;
  });
}

}  // namespace

JobEntry::JobEntry() = default;
JobEntry::JobEntry(JobEntry&&) noexcept = default;
JobEntry::~JobEntry() = default;

// Fills in the controller's part of the metadata.
void FillInMetadata(const JobEntry& job, json* metadata) {
  (*metadata)["uid"] = std::to_string(job.uid);
  (*metadata)["resourceVersion"] = std::to_string(job.version);
  (*metadata)["creationTimestamp"] = base::FormatUtc(job.created_unix_ns);
  if (!job.deletion_time.empty()) (*metadata)["deletionTimestamp"] = job.deletion_time;
}

job::JobStatus StatusOf(const JobEntry& job) {
  job::JobStatus status;
  status.conditions = job.conditions;
  status.warnings = job.warnings;
  return status;
}

JobTable::JobTable(store::DataDirectory directory, const base::RealClock& clock, std::mutex* guard)
    : directory_(std::move(directory)), clock_(clock), guard_(*guard), sweeps_(clock) {}

JobTable::~JobTable() = default;

std::int64_t JobTable::NextVersion() {
  last_version_ = std::max(last_version_ + 1, clock_.UnixNs() / 1'000'000);
  return last_version_;
}

Result<std::vector<std::int64_t>> JobTable::Load(store::JobStore store) {
  const auto clusters = store.LoadClusters();
  if (!clusters) return std::unexpected(clusters.error());
  const auto requests = store.LoadRequests();
  if (!requests) return std::unexpected(requests.error());
  const auto jobs = store.LoadJobs();
  if (!jobs) return std::unexpected(jobs.error());
  const auto sweeps = store.LoadSweeps();
  if (!sweeps) return std::unexpected(sweeps.error());
  writer_ = std::make_unique<store::StoreWriter>(
      store::StoreWriterOptions{.folder = directory_.path(), .guard = &guard_}, std::move(store),
      clock_);
  const std::lock_guard lock(guard_);
  for (const store::StoredCluster& stored : *clusters) LoadCluster(stored);
  for (const auto& remembered : *requests) {
    requests_[{remembered.request.name_space, remembered.request.key}] = remembered;
  }
  sweeps_.Load(*sweeps, writer_.get(), directory_.path());
  std::vector<std::int64_t> waiting;
  for (const store::StoredJob& stored : *jobs) {
    if (store::DamageOf(stored).empty()) LoadJob(stored, &waiting);
  }
  // After the others, which may have the name that a damaged one shows.
  for (const store::StoredJob& stored : *jobs) {
    const std::string damage = store::DamageOf(stored);
    if (!damage.empty()) ShowDamaged(stored, damage);
  }
  return waiting;
}

void JobTable::LoadCluster(const store::StoredCluster& stored) {
  DamagedObject object = {.kind = job::kClusterKind,
                          .record = StrCat("cluster ", stored.name_space, "/", stored.name),
                          .damage = store::DamageOf(stored),
                          .name_space = stored.name_space,
                          .name = stored.name,
                          .document_text = ""};
  if (object.damage.empty()) {
    object.document_text = stored.document;
  } else {
    base::Log(base::Level::kError, "damaged_record",
              {{"record", object.record}, {"damage", object.damage}});
    // Deleting it takes the name that is stored; another one would remove nothing.
    if (ShownName(object) != std::pair(stored.name_space, stored.name)) return;
  }
  const json document = ShownDocument(object);
  clusters_[{stored.name_space, stored.name}] = {
      .name_space = stored.name_space,
      .name = stored.name,
      .created_unix_ns = stored.created_unix_ns,
      .document = document,
      .spec = object.damage.empty() ? job::ParseCluster(document).spec : job::ClusterSpec(),
      .damage = object.damage};
}

void JobTable::ShowDamaged(const store::StoredJob& stored, const std::string& damage) {
  DamagedObject object = {.kind = job::kJobKind,
                          .record = StrCat("job ", stored.uid),
                          .damage = damage,
                          .name_space = stored.name_space,
                          .name = stored.name,
                          .document_text = store::IsDocumentDamaged(damage) ? "" : stored.document};
  auto [name_space, name] = ShownName(object);
  if (Find(name_space, name) != nullptr) {
    object.name.clear();
    std::tie(name_space, name) = ShownName(object);
  }
  JobEntry& entry = jobs_[stored.uid];
  entry.uid = stored.uid;
  entry.name_space = name_space;
  entry.name = name;
  entry.created_unix_ns = stored.created_unix_ns;
  entry.version = NextVersion();
  entry.document = ShownDocument(object);
  entry.status = ShownStatus(object, directory_.path(), base::FormatUtc(clock_.UnixNs()));
  entry.conditions = job::Conditions::FromJson(entry.status["conditions"]);
  entry.over_unix_ns = clock_.UnixNs();
  entry.damage = damage;
  base::Log(
      base::Level::kError, "damaged_record",
      {{"record", object.record}, {"job", StrCat(name_space, "/", name)}, {"damage", damage}});
}

void JobTable::LoadJob(const store::StoredJob& stored, std::vector<std::int64_t>* waiting) {
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
  } else if (phase == job::Phase::kRunning) {
    Interrupt(&entry);
  } else {
    entry.over_unix_ns = EndOf(entry.status).value_or(clock_.UnixNs());
  }
}

void JobTable::Interrupt(JobEntry* entry) {
  const std::string now = base::FormatUtc(clock_.UnixNs());
  entry->conditions.Set(
      {std::string(job::condition::kRunning), false, std::string(job::reason::kFinished), "", now});
  // A verdict that could not be stored leaves the same traces as a run that was cut off.
  entry->conditions.Set({std::string(job::condition::kInterrupted), true,
                         std::string(job::reason::kControllerRestarted),
                         "the controller ended while the job ran, or before it could store how the "
                         "job ended; submit it again to repeat it",
                         now});
  // The status keeps what was measured before.
  json status = entry->status;
  status["conditions"] = entry->conditions.ToJson();
  status["phase"] = job::Name(job::Phase::kInterrupted);
  status["completionTime"] = now;
  base::Log(base::Level::kWarning, "job_interrupted", {{"job", entry->name}});
  Settle(entry, std::move(status), "Interrupted", nullptr);
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

JobTable::Asked JobTable::Create(const std::string& name_space, const job::ParsedJob& parsed,
                                 const json& document, job::Conditions conditions,
                                 const std::optional<store::IdempotentRequest>& request,
                                 Created then) {
  const std::string name = NewNameOf(parsed.metadata);
  auto entry = std::make_shared<JobEntry>();
  entry->name_space = name_space;
  entry->name = name;
  entry->created_unix_ns = clock_.UnixNs();
  entry->document = AcceptedDocument(name_space, name, document);
  entry->spec = parsed.spec;
  entry->warnings = parsed.warnings;
  entry->conditions = std::move(conditions);
  entry->status = ToJson(StatusOf(*entry));
  auto row = std::make_shared<store::StoredJob>();
  *row = {.name_space = name_space,
          .name = name,
          .created_unix_ns = entry->created_unix_ns,
          .document = entry->document.dump(),
          .status = entry->status.dump()};
  return writer_->Ask(
      {.write = [row, request](store::JobStore& store) -> Result<void> {
         auto stored = store.CreateJob(*row, request);
         if (!stored) return std::unexpected(stored.error());
         row->uid = stored->uid;
         return {};
       },
       .is_stored = [row](store::JobStore& store) -> Result<bool> {
         const auto found = store.FindJob(row->name_space, row->name);
         if (!found) return std::unexpected(found.error());
         if (!*found || !(*found)->damage.empty()) return false;
         if ((*found)->created_unix_ns != row->created_unix_ns) return false;
         row->uid = (*found)->uid;
         return true;
       },
       .done =
           [this, entry, row, request, then = std::move(then)](const Result<void>& stored) {
             if (!stored) return then(std::unexpected(stored.error()));
             entry->uid = row->uid;
             entry->version = NextVersion();
             if (request) requests_[{request->name_space, request->key}] = {*request, row->uid};
             then(&jobs_.emplace(row->uid, std::move(*entry)).first->second);
           }});
}

const store::JobStore::Remembered* JobTable::FindRequest(const std::string& name_space,
                                                         const std::string& key) const {
  const auto found = requests_.find({name_space, key});
  return found == requests_.end() ? nullptr : &found->second;
}

void JobTable::Publish(JobEntry* job, const job::JobStatus& status, bool save) {
  job->status = ToJson(status);
  job->version = NextVersion();
  job->changed = false;
  job->published_ns = clock_.MonotonicNs();
  if (!save) return;
  job->saved_ns = job->published_ns;
  writer_->Offer({.job = job->uid,
                  .what = "progress of " + job->name,
                  .write =
                      [uid = job->uid, text = job->status.dump()](store::JobStore& store) {
                        return store.SaveStatus(uid, text, store::Durability::kProcess);
                      },
                  .done = nullptr});
}

void JobTable::Settle(JobEntry* job, json status, const std::string& what, Then then) {
  const std::int64_t uid = job->uid;
  job->settling = true;
  job->settling_ns = clock_.MonotonicNs();
  job->changed = false;
  std::string text = status.dump();
  writer_->Keep({.job = uid,
                 .what = StrCat("job ", job->name_space, "/", job->name, ": ", what),
                 .write =
                     [uid, text = std::move(text)](store::JobStore& store) {
                       return store.SaveStatus(uid, text, store::Durability::kPower);
                     },
                 .done =
                     [this, uid, status = std::move(status), then = std::move(then)]() mutable {
                       JobEntry* entry = Find(uid);
                       entry->settling = false;
                       entry->waits_for.clear();
                       entry->status = std::move(status);
                       entry->version = NextVersion();
                       if (job::IsOver(entry->conditions.phase())) {
                         entry->over_unix_ns = clock_.UnixNs();
                       }
                       if (then) then(entry);
                     }});
}

JobTable::Asked JobTable::Replace(JobEntry* job, json document, job::Conditions conditions,
                                  std::function<void(JobEntry*, const Result<void>&)> then) {
  job::JobStatus status = StatusOf(*job);
  status.conditions = conditions;
  const ObjectId id = {job->name_space, job->name, job->uid};
  const std::string text = document.dump();
  auto asked = writer_->Ask(
      {.write = [id, text, shown = ToJson(status).dump()](
                    store::JobStore& store) { return store.SaveDocument(id.uid, text, shown); },
       .is_stored = [id, text](store::JobStore& store) -> Result<bool> {
         const auto found = store.FindJob(id.name_space, id.name);
         if (!found) return std::unexpected(found.error());
         return *found && (*found)->uid == id.uid && (*found)->document == text &&
                (*found)->damage.empty();
       },
       .done =
           [this, id, document = std::move(document), status,
            then = std::move(then)](const Result<void>& stored) {
             JobEntry* entry = Find(id.uid);
             if (entry == nullptr) return then(nullptr, stored);
             entry->changing = false;
             if (stored) {
               entry->document = document;
               entry->conditions = status.conditions;
               Publish(entry, status, false);
             }
             then(entry, stored);
           }});
  job->changing = asked.has_value();
  return asked;
}

void JobTable::AddWarning(JobEntry* job, const std::string& warning) {
  job->warnings.push_back(warning);
  job->status["warnings"] = job->warnings;
  job->version = NextVersion();
  writer_->Keep({.job = job->uid,
                 .what = StrCat("job ", job->name_space, "/", job->name, ": a warning"),
                 .write =
                     [uid = job->uid, text = job->status.dump()](store::JobStore& store) {
                       return store.SaveStatus(uid, text, store::Durability::kPower);
                     },
                 .done = nullptr});
}

void JobTable::Delete(JobEntry* job, std::function<void()> then) {
  const std::int64_t uid = job->uid;
  if (job->deletion_time.empty()) job->deletion_time = base::FormatUtc(clock_.UnixNs());
  job->version = NextVersion();
  writer_->Keep({.job = uid,
                 .what = StrCat("job ", job->name_space, "/", job->name, ": deleted"),
                 .write =
                     [this, uid](store::JobStore& store) {
                       // The files first: their space may be what the row's removal needs.
                       directory_.RemoveOutputs(uid);
                       return store.DeleteJob(uid);
                     },
                 .done =
                     [this, uid, then = std::move(then)] {
                       std::erase_if(requests_,
                                     [&](const auto& row) { return row.second.uid == uid; });
                       jobs_.erase(uid);
                       if (then) then();
                     }});
}

std::vector<std::string> JobTable::Close(std::chrono::milliseconds limit) {
  if (writer_ == nullptr) return {};  // Load has failed.
  return writer_->Close(limit);
}

void JobTable::ShowWaiting(JobEntry* job, const base::Error& why) {
  if (job->waits_for == why.message) return;
  job->waits_for = why.message;
  job::Conditions shown = job::Conditions::FromJson(job->status.value("conditions", json::array()));
  const bool placed = shown.Find(job::condition::kRunning) != nullptr;
  const std::string_view type = placed ? job::condition::kRunning : job::condition::kScheduled;
  const std::string message =
      StrCat(placed ? "the job has ended; its result is kept in memory until it can be stored"
                    : "the job waits until its start can be stored",
             ": ", why.message, "; ", store::WayOut(why, directory_.path()));
  const job::Condition* now = shown.Find(type);
  shown.Set({std::string(type), now != nullptr && now->value,
             std::string(job::reason::kWaitingForStore), message,
             base::FormatUtc(clock_.UnixNs())});
  job->status["conditions"] = shown.ToJson();
  job->version = NextVersion();
}

json JobTable::Render(const JobEntry& job) {
  json object = job.document;
  FillInMetadata(job, &object["metadata"]);
  object["status"] = job.status;
  return object;
}

json JobTable::RenderSummary(const JobEntry& job) {
  json object = job::SummaryOf(job.document, job.status);
  FillInMetadata(job, &object["metadata"]);
  return object;
}

JobTable::Asked JobTable::CreateCluster(const std::string& name_space,
                                        const job::ParsedCluster& parsed, const json& document,
                                        std::function<void(const Result<ClusterEntry*>&)> then) {
  const std::string name = NewNameOf(parsed.metadata);
  ClusterEntry entry = {.name_space = name_space,
                        .name = name,
                        .created_unix_ns = clock_.UnixNs(),
                        .document = AcceptedDocument(name_space, name, document),
                        .spec = parsed.spec};
  const store::StoredCluster row = {name_space, name, entry.created_unix_ns, entry.document.dump()};
  return writer_->Ask(
      {.write = [row](store::JobStore& store) { return store.CreateCluster(row); },
       .is_stored =
           [row](store::JobStore& store) { return Holds(store, row.name_space, row.name); },
       .done =
           [this, entry = std::move(entry), then = std::move(then)](const Result<void>& stored) {
             if (!stored) return then(std::unexpected(stored.error()));
             then(&clusters_.insert_or_assign({entry.name_space, entry.name}, entry).first->second);
           }});
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

JobTable::Asked JobTable::DeleteCluster(const std::string& name_space, const std::string& name,
                                        std::function<void(const Result<void>&)> then) {
  return writer_->Ask(
      {.write = [name_space,
                 name](store::JobStore& store) { return store.DeleteCluster(name_space, name); },
       .is_stored = [name_space, name](store::JobStore& store) -> Result<bool> {
         const auto held = Holds(store, name_space, name);
         if (!held) return held;
         return !*held;
       },
       .done =
           [this, name_space, name, then = std::move(then)](const Result<void>& stored) {
             if (stored) clusters_.erase({name_space, name});
             then(stored);
           },
       .frees_space = true});
}

json JobTable::Render(const ClusterEntry& cluster) {
  json object = cluster.document;
  object["metadata"]["creationTimestamp"] = base::FormatUtc(cluster.created_unix_ns);
  if (!cluster.damage.empty()) {
    object["status"] = {{"damage", cluster.damage}};
    return object;
  }
  object["status"] = {{"resolved", job::ToJson(cluster.spec)}};
  return object;
}

}  // namespace eidolon::controller::embedded
