// Jobs, clusters and sweeps on disk: one SQLite file that survives the process being killed at any
// moment. What a call has acknowledged is there after a restart; what it has not may or may not be.
// Each row has checksums, which every read verifies. A damaged row is loaded as such, for its owner
// to show; before a write replaces one, a copy goes to the folder damaged/ beside the file.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/controller/store/database.h"
#include "services/controller/store/store_schema.h"

namespace eidolon::controller::store {

struct StoredJob {
  std::int64_t uid = 0;
  std::string name_space;
  std::string name;
  std::int64_t created_unix_ns = 0;
  std::int64_t version = 1;  // Counts writes of this job.
  std::string document;      // JSON text of metadata and spec, as accepted.
  std::string status;        // JSON text.
  std::string damage;        // What does not match its checksum, as a clause; empty when intact.
};

struct StoredCluster {
  std::string name_space;
  std::string name;
  std::int64_t created_unix_ns = 0;
  std::string document;  // JSON text, as accepted.
  std::string damage;    // As of a job.
};

struct StoredSweep {
  std::int64_t uid = 0;
  std::string name_space;
  std::string name;
  std::int64_t created_unix_ns = 0;
  std::string document;  // JSON text of metadata and spec, as accepted.
  std::string status;    // JSON text.
  std::string damage;    // As of a job.
};

// Object that a request with an Idempotency-Key created.
struct IdempotentRequest {
  std::string name_space;
  std::string key;
  std::string body_digest;
};

// How much a write must survive: kill -9 of the process, or also the loss of power.
enum class Durability { kProcess, kPower };

// Owns the database. Not thread safe. One process per file: see DataDirectory. Writes that fail are
// kResourceExhausted (no space on the disk) or kUnavailable (another failure of the disk); whether
// the latter happened is only known after Reopen.
class JobStore {
 public:
  // Opens or creates the file; that of an earlier version gets checksums. A file of a newer version
  // is refused, not changed.
  static base::Result<JobStore> Open(const std::string& path);
  // After a write that failed by another thing than missing space: closes the file, opens it anew
  // and writes all of it again, as no later fsync covers what a failed one has not. While this
  // fails it is called again; nothing else may be.
  base::Result<void> Reopen();
  // Writes something without effect, and waits for the disk.
  base::Result<void> Probe();
  // Space for what must be written when the disk is full; taken again when it was used up.
  base::Result<void> KeepReserve();

  // Fails with kAlreadyExists when the name is taken. Fills in uid. `request`: remembered with the
  // job in the same transaction.
  base::Result<StoredJob> CreateJob(StoredJob job, const std::optional<IdempotentRequest>& request);
  base::Result<void> SaveStatus(std::int64_t uid, const std::string& status, Durability durability);
  // Replaces metadata and spec, and the status with them.
  base::Result<void> SaveDocument(std::int64_t uid, const std::string& document,
                                  const std::string& status);
  base::Result<void> DeleteJob(std::int64_t uid);
  // All jobs, oldest first.
  base::Result<std::vector<StoredJob>> LoadJobs();
  base::Result<std::optional<StoredJob>> FindJob(const std::string& name_space,
                                                 const std::string& name);

  struct Remembered {
    IdempotentRequest request;
    std::int64_t uid = 0;
  };
  // The requests that created the jobs that are not deleted, without damaged ones: those are
  // logged.
  base::Result<std::vector<Remembered>> LoadRequests();

  base::Result<void> CreateCluster(const StoredCluster& cluster);
  base::Result<void> DeleteCluster(const std::string& name_space, const std::string& name);
  base::Result<std::vector<StoredCluster>> LoadClusters();

  // Fails with kAlreadyExists when the name is taken. Answers the uid.
  base::Result<std::int64_t> CreateSweep(const StoredSweep& sweep);
  base::Result<void> SaveSweep(std::int64_t uid, const std::string& document,
                               const std::string& status);
  base::Result<void> SaveSweepDocument(std::int64_t uid, const std::string& document);
  base::Result<void> DeleteSweep(std::int64_t uid);
  // Oldest first.
  base::Result<std::vector<StoredSweep>> LoadSweeps();

 private:
  JobStore(std::string path, Database database)
      : path_(std::move(path)), open_(std::move(database)) {}
  Database& database();
  // Puts new values into parts of a row: keeps a copy of what is damaged there, runs the statement
  // with the values and then the row's number for its parameters, renews the checksums.
  base::Result<void> Update(const Table& table, std::span<const Part> parts, std::string_view sql,
                            std::initializer_list<std::string> values, std::int64_t row_id);
  base::Result<void> Remember(const IdempotentRequest& request, std::int64_t uid);
  std::string folder() const;

  std::string path_;
  std::optional<Database> open_;  // Nothing: Reopen has failed.
};

}  // namespace eidolon::controller::store
