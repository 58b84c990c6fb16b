// Jobs and clusters on disk: one SQLite file that survives the process being killed at any moment.
// What a call has acknowledged is there after a restart; what it has not may or may not be.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/controller/store/database.h"

namespace eidolon::controller::store {

struct StoredJob {
  std::int64_t uid = 0;
  std::string name_space;
  std::string name;
  std::int64_t created_unix_ns = 0;
  std::int64_t version = 1;  // Counts writes of this job.
  std::string document;      // JSON text of metadata and spec, as accepted.
  std::string status;        // JSON text.
};

struct StoredCluster {
  std::string name_space;
  std::string name;
  std::int64_t created_unix_ns = 0;
  std::string document;  // JSON text, as accepted.
};

// What a request with an Idempotency-Key created.
struct IdempotentRequest {
  std::string name_space;
  std::string key;
  std::string body_digest;
};

// How much a write must survive: kill -9 of the process, or also the loss of power.
enum class Durability { kProcess, kPower };

// Owns the database. Not thread safe. One process per file: see DataDirectory.
class JobStore {
 public:
  // Opens or creates the file. A file of a newer version is refused, not changed.
  static base::Result<JobStore> Open(const std::string& path);

  // Fails with kAlreadyExists when the name is taken. Fills in uid. `request`: remembered with the
  // job in the same transaction.
  base::Result<StoredJob> CreateJob(StoredJob job, const std::optional<IdempotentRequest>& request);
  base::Result<void> SaveStatus(std::int64_t uid, const std::string& status, Durability durability);
  // Replaces metadata and spec.
  base::Result<void> SaveDocument(std::int64_t uid, const std::string& document);
  base::Result<void> DeleteJob(std::int64_t uid);
  // All jobs, oldest first.
  base::Result<std::vector<StoredJob>> LoadJobs();

  struct Remembered {
    std::int64_t uid = 0;
    std::string body_digest;
  };
  // The job a request with this key created, unless it is deleted.
  base::Result<std::optional<Remembered>> FindRequest(const std::string& name_space,
                                                      const std::string& key);

  base::Result<void> CreateCluster(const StoredCluster& cluster);
  base::Result<void> DeleteCluster(const std::string& name_space, const std::string& name);
  base::Result<std::vector<StoredCluster>> LoadClusters();

 private:
  explicit JobStore(Database database) : database_(std::move(database)) {}

  Database database_;
};

}  // namespace eidolon::controller::store
