// The jobs and clusters a controller knows, in memory, and their rows in the store. Documents come
// in and go out complete. Acceptance, placing, suspension, the end and deletion of a job are shown
// when they are stored, and repeated until they are; progress may be shown before.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/contract/folding/fold.h"
#include "services/controller/embedded/sweep_table.h"
#include "services/controller/job/job.h"
#include "services/controller/job/status.h"
#include "services/controller/store/data_directory.h"
#include "services/controller/store/job_store.h"
#include "services/controller/store/store_writer.h"

namespace eidolon::controller::embedded {

class ActiveRun;

// One job. The status is kept as its document: that of an earlier controller is shown as it was.
// `conditions` may be ahead of it while a transition is being stored.
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
  std::int64_t over_unix_ns = 0;  // When its end was stored; 0: not over.
  std::unique_ptr<ActiveRun> active;
  bool starting = false;  // Taken from the queue, not active yet.
  bool ending = false;    // Its agents are gone, its end is not known yet.
  bool settling = false;  // A transition is being stored.
  bool changing = false;  // Its document is being replaced.
  bool delete_when_over = false;
  // That tell classes of its ranks apart, as its runs have shown; of a folded job.
  std::vector<folding::Dimension> fold_dimensions;
  std::string deletion_time;           // RFC 3339; empty: nobody wants it deleted.
  bool changed = false;                // Status is older than what is known.
  std::int64_t published_ns = 0;       // Monotonic time of the last rendering.
  std::int64_t saved_ns = 0;           // And of the last save.
  std::int64_t guardians_seen_ns = 0;  // And of the last look at its agents' guardians.
  std::int64_t settling_ns = 0;        // And when the transition began to be stored.
  std::string waits_for;               // Why it cannot be, as shown.
  std::string damage;                  // Of its stored record; it is shown and can be deleted only.
};

struct ClusterEntry {
  std::string name_space;
  std::string name;
  std::int64_t created_unix_ns = 0;
  nlohmann::json document;
  job::ClusterSpec spec;
  std::string damage;  // Of its stored record; it is shown, deleted, and used by no job.
};

// Guarded by the owner's lock, which it takes itself when something was stored: what it is given as
// `then` is called with it.
class JobTable {
 public:
  // Requires: the clock and the lock outlive it, or Close was called.
  JobTable(store::DataDirectory directory, const base::RealClock& clock, std::mutex* guard);
  ~JobTable();
  JobTable(const JobTable&) = delete;
  JobTable& operator=(const JobTable&) = delete;

  // Reads everything back and takes the store. Jobs that ran become Interrupted; the uids of those
  // that wait are answered. Damaged records are listed as such. Call once, first.
  base::Result<std::vector<std::int64_t>> Load(store::JobStore store);

  JobEntry* Find(std::int64_t uid);
  JobEntry* Find(const std::string& name_space, const std::string& name);
  const std::map<std::int64_t, JobEntry>& jobs() const { return jobs_; }
  std::map<std::int64_t, JobEntry>& jobs() { return jobs_; }

  using Then = std::function<void(JobEntry*)>;
  using Created = std::function<void(const base::Result<JobEntry*>&)>;
  using Asked = base::Result<std::shared_ptr<store::Ticket>>;
  // Stores a new job with the given conditions; `then` learns what came of it, unless that is
  // refused at once.
  Asked Create(const std::string& name_space, const job::ParsedJob& parsed,
               const nlohmann::json& document, job::Conditions conditions,
               const std::optional<store::IdempotentRequest>& request, Created then);
  // Returns what a request with this key created.
  const store::JobStore::Remembered* FindRequest(const std::string& name_space,
                                                 const std::string& key) const;
  // Renders the status anew and counts a change. `save`: also into the store, when that is easy.
  void Publish(JobEntry* job, const job::JobStatus& status, bool save);
  // A transition: the status is shown, and `then` called, when it is stored. `what`: for the log.
  void Settle(JobEntry* job, nlohmann::json status, const std::string& what, Then then);
  // Takes back a transition that is not being stored yet. False: it is, or there is none.
  bool TakeBack(std::int64_t uid) { return writer_->TakeBack(uid); }
  // Replaces document and conditions; both stay as they were when that cannot be stored. `then`
  // gets no job when it was deleted meanwhile.
  Asked Replace(JobEntry* job, nlohmann::json document, job::Conditions conditions,
                std::function<void(JobEntry*, const base::Result<void>&)> then);
  // One more warning of a job that is over, into the store too.
  void AddWarning(JobEntry* job, const std::string& warning);
  // Removes files and row; the job is gone when that is done.
  void Delete(JobEntry* job, std::function<void()> then);
  // Says in the status of a job why its transition waits for the store. Requires: settling.
  void ShowWaiting(JobEntry* job, const base::Error& why);
  // The complete document.
  static nlohmann::json Render(const JobEntry& job);
  // Returns what a list shows of it (controller/job/summary.h).
  static nlohmann::json RenderSummary(const JobEntry& job);

  Asked CreateCluster(const std::string& name_space, const job::ParsedCluster& parsed,
                      const nlohmann::json& document,
                      std::function<void(const base::Result<ClusterEntry*>&)> then);
  ClusterEntry* FindCluster(const std::string& name_space, const std::string& name);
  std::vector<std::string> ClusterNames(const std::string& name_space) const;
  const std::map<std::pair<std::string, std::string>, ClusterEntry>& clusters() const {
    return clusters_;
  }
  Asked DeleteCluster(const std::string& name_space, const std::string& name,
                      std::function<void(const base::Result<void>&)> then);
  static nlohmann::json Render(const ClusterEntry& cluster);

  SweepTable& sweeps() { return sweeps_; }

  // Needs no lock.
  store::StoreState store_state() const { return writer_->state(); }
  // Waits until what must be stored is, at most this long, and stores nothing any more. Answers
  // what is lost. Requires: the lock is not held.
  std::vector<std::string> Close(std::chrono::milliseconds limit);

  const store::DataDirectory& directory() const { return directory_; }

 private:
  std::int64_t NextVersion();
  void LoadCluster(const store::StoredCluster& stored);
  void LoadJob(const store::StoredJob& stored, std::vector<std::int64_t>* waiting);
  // Of damaged jobs: they never run, and nothing is written to their rows.
  void ShowDamaged(const store::StoredJob& stored, const std::string& damage);
  // Interrupts a job that ran when an earlier controller ended.
  void Interrupt(JobEntry* entry);

  store::DataDirectory directory_;
  const base::RealClock& clock_;
  std::mutex& guard_;
  std::int64_t last_version_ = 0;
  std::map<std::int64_t, JobEntry> jobs_;  // By uid: in order of creation.
  std::map<std::pair<std::string, std::string>, store::JobStore::Remembered> requests_;
  std::map<std::pair<std::string, std::string>, ClusterEntry> clusters_;
  SweepTable sweeps_;
  std::unique_ptr<store::StoreWriter> writer_;  // Calls back, so it ends first.
};

// The status an entry's conditions and warnings give by themselves.
job::JobStatus StatusOf(const JobEntry& job);

}  // namespace eidolon::controller::embedded
