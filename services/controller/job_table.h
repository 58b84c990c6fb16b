// The jobs and clusters a controller knows, in memory, and their rows in the store. Documents come
// in and go out complete; what cannot be stored is not shown.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/controller/job/job.h"
#include "services/controller/job/status.h"
#include "services/controller/store/data_directory.h"
#include "services/controller/store/job_store.h"

namespace eidolon::controller {

class ActiveRun;

// One job. The status is kept as its document: that of an earlier controller is shown as it was.
struct JobEntry {
  JobEntry();
  JobEntry(JobEntry&&) noexcept;
  ~JobEntry();

  std::int64_t uid = 0;
  std::string name_space;
  std::string name;
  std::int64_t created_unix_ns = 0;
  std::int64_t version = 0;  // Grows with every visible change, also across restarts.
  nlohmann::json document;   // apiVersion, kind, metadata and spec.
  nlohmann::json status;
  job::JobSpec spec;
  job::Conditions conditions;
  std::vector<std::string> warnings;
  std::int64_t over_unix_ns = 0;  // 0: not over.
  std::unique_ptr<ActiveRun> active;
  bool starting = false;  // Taken from the queue, not active yet.
  bool delete_when_over = false;
  bool changed = false;           // Status is older than what is known.
  std::int64_t published_ns = 0;  // Monotonic time of the last rendering.
  std::int64_t saved_ns = 0;      // And of the last save.
};

struct ClusterEntry {
  std::string name_space;
  std::string name;
  std::int64_t created_unix_ns = 0;
  nlohmann::json document;
  job::ClusterSpec spec;
};

// Not thread safe.
class JobTable {
 public:
  JobTable(store::DataDirectory directory, store::JobStore store, const base::RealClock& clock);
  JobTable(JobTable&&) = default;
  ~JobTable();

  // Reads everything back. Jobs that ran become Interrupted; the uids of those that wait are
  // answered.
  base::Result<std::vector<std::int64_t>> Load();

  JobEntry* Find(std::int64_t uid);
  JobEntry* Find(const std::string& name_space, const std::string& name);
  const std::map<std::int64_t, JobEntry>& jobs() const { return jobs_; }
  std::map<std::int64_t, JobEntry>& jobs() { return jobs_; }

  // Stores a new job with the given conditions.
  base::Result<JobEntry*> Create(const std::string& name_space, const job::ParsedJob& parsed,
                                 const nlohmann::json& document, job::Conditions conditions,
                                 const std::optional<store::IdempotentRequest>& request);
  base::Result<std::optional<store::JobStore::Remembered>> FindRequest(
      const std::string& name_space, const std::string& key) {
    return store_.FindRequest(name_space, key);
  }
  // Renders the status anew and counts a change. Saves as asked; a failed save is logged and tried
  // again with the next one.
  enum class Save { kNo, kProcess, kPower };
  void Publish(JobEntry* job, const job::JobStatus& status, Save save);
  base::Result<void> SaveDocument(JobEntry* job);
  void Delete(std::int64_t uid);
  // The complete document.
  static nlohmann::json Render(const JobEntry& job);

  base::Result<ClusterEntry*> CreateCluster(const std::string& name_space,
                                            const job::ParsedCluster& parsed,
                                            const nlohmann::json& document);
  ClusterEntry* FindCluster(const std::string& name_space, const std::string& name);
  std::vector<std::string> ClusterNames(const std::string& name_space) const;
  const std::map<std::pair<std::string, std::string>, ClusterEntry>& clusters() const {
    return clusters_;
  }
  base::Result<void> DeleteCluster(const std::string& name_space, const std::string& name);
  static nlohmann::json Render(const ClusterEntry& cluster);

  const store::DataDirectory& directory() const { return directory_; }

 private:
  std::int64_t NextVersion();
  base::Result<void> LoadJob(const store::StoredJob& stored, std::vector<std::int64_t>* waiting);

  store::DataDirectory directory_;
  store::JobStore store_;
  const base::RealClock& clock_;
  std::int64_t last_version_ = 0;
  std::map<std::int64_t, JobEntry> jobs_;  // By uid: in order of creation.
  std::map<std::pair<std::string, std::string>, ClusterEntry> clusters_;
};

// The status an entry's conditions and warnings give by themselves.
job::JobStatus StatusOf(const JobEntry& job);

}  // namespace eidolon::controller
