#include "services/controller/store/job_store.h"

#include "services/base/check.h"
#include "services/base/log.h"
#include "services/base/text.h"

namespace eidolon::controller::store {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

constexpr std::int64_t kSchemaVersion = 2;  // 1 had no sweeps.

constexpr char kSchema[] = R"(
CREATE TABLE IF NOT EXISTS jobs (
  uid INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  created_unix_ns INTEGER NOT NULL,
  version INTEGER NOT NULL,
  document TEXT NOT NULL,
  status TEXT NOT NULL,
  UNIQUE (namespace, name));
CREATE TABLE IF NOT EXISTS requests (
  namespace TEXT NOT NULL,
  key TEXT NOT NULL,
  body_digest TEXT NOT NULL,
  uid INTEGER NOT NULL REFERENCES jobs (uid) ON DELETE CASCADE,
  PRIMARY KEY (namespace, key));
CREATE TABLE IF NOT EXISTS clusters (
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  created_unix_ns INTEGER NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (namespace, name));
CREATE TABLE IF NOT EXISTS sweeps (
  uid INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  created_unix_ns INTEGER NOT NULL,
  document TEXT NOT NULL,
  status TEXT NOT NULL,
  UNIQUE (namespace, name));
)";

Result<void> PrepareSchema(Database* database) {
  std::int64_t found = 0;
  {
    auto version = database->Prepare("PRAGMA user_version");
    if (!version) return std::unexpected(version.error());
    if (auto row = version->Step(); !row) return std::unexpected(row.error());
    found = version->Integer(0);
  }
  if (found > kSchemaVersion) {
    return Fail(ErrorCode::kFailedPrecondition,
                StrCat("the file has schema version ", found, ", this program knows ",
                       kSchemaVersion, "; use the program that wrote it or another data folder"));
  }
  if (found == kSchemaVersion) return {};  // A full disk does not keep a controller from starting.
  auto transaction = Transaction::Begin(database);
  if (!transaction) return std::unexpected(transaction.error());
  if (auto made = database->Execute(kSchema); !made) return made;
  if (auto set = database->Execute(StrCat("PRAGMA user_version=", kSchemaVersion)); !set) {
    return set;
  }
  return transaction->Commit();
}

StoredJob ReadJob(const Statement& row) {
  return {.uid = row.Integer(0),
          .name_space = row.Text(1),
          .name = row.Text(2),
          .created_unix_ns = row.Integer(3),
          .version = row.Integer(4),
          .document = row.Text(5),
          .status = row.Text(6)};
}

// Runs a statement whose every parameter is bound.
Result<void> RunOne(Result<Statement>& statement) {
  if (!statement) return std::unexpected(statement.error());
  return statement->Run();
}

}  // namespace

Result<JobStore> JobStore::Open(const std::string& path) {
  auto database = Database::Open(path);
  if (!database) return base::Wrap("opening " + path, database.error());
  if (auto ready = PrepareSchema(&*database); !ready) {
    return base::Wrap("opening " + path, ready.error());
  }
  JobStore store(path, std::move(*database));
  if (auto kept = store.KeepReserve(); !kept) {
    base::Log(base::Level::kWarning, "no_reserve_for_the_store",
              {{"reason", kept.error().message}});
  }
  return store;
}

Database& JobStore::database() {
  CHECK(open_.has_value());
  return *open_;
}

Result<void> JobStore::Reopen() {
  open_.reset();
  auto database = Database::Open(path_);
  if (!database) return std::unexpected(database.error());
  if (auto rewritten = database->Rewrite(); !rewritten) return rewritten;
  open_.emplace(std::move(*database));
  // Without space for it there is none; whether the disk is full is not the question here.
  (void)open_->KeepReserve();
  return {};
}

Result<void> JobStore::Probe() {
  return database().Execute(StrCat("PRAGMA user_version=", kSchemaVersion));
}

Result<void> JobStore::KeepReserve() { return database().KeepReserve(); }

Result<StoredJob> JobStore::CreateJob(StoredJob job,
                                      const std::optional<IdempotentRequest>& request) {
  auto transaction = Transaction::Begin(&database());
  if (!transaction) return std::unexpected(transaction.error());
  auto insert = database().Prepare(
      "INSERT INTO jobs (namespace, name, created_unix_ns, version, document, status) "
      "VALUES (?, ?, ?, ?, ?, ?)");
  if (!insert) return std::unexpected(insert.error());
  insert->Bind(job.name_space).Bind(job.name).Bind(job.created_unix_ns).Bind(job.version);
  insert->Bind(job.document).Bind(job.status);
  if (auto done = insert->Run(); !done) {
    if (!database().LastWasDuplicate()) return std::unexpected(done.error());
    return Fail(ErrorCode::kAlreadyExists,
                StrCat("simulation job '", job.name, "' exists already in namespace '",
                       job.name_space, "'"));
  }
  job.uid = database().LastInsertId();
  if (request) {
    auto remember = database().Prepare(
        "INSERT OR REPLACE INTO requests (namespace, key, body_digest, uid) VALUES (?, ?, ?, ?)");
    if (!remember) return std::unexpected(remember.error());
    remember->Bind(request->name_space).Bind(request->key).Bind(request->body_digest);
    remember->Bind(job.uid);
    if (auto done = remember->Run(); !done) return std::unexpected(done.error());
  }
  if (auto done = transaction->Commit(); !done) return std::unexpected(done.error());
  return job;
}

Result<void> JobStore::SaveStatus(std::int64_t uid, const std::string& status,
                                  Durability durability) {
  // Without the wait for the disk a commit is still safe from kill -9: the kernel has the bytes.
  if (durability == Durability::kProcess) {
    if (auto set = database().Execute("PRAGMA synchronous=NORMAL"); !set) return set;
  }
  auto update =
      database().Prepare("UPDATE jobs SET status = ?, version = version + 1 WHERE uid = ?");
  if (update) update->Bind(status).Bind(uid);
  Result<void> done = RunOne(update);
  if (durability == Durability::kProcess) {
    if (auto reset = database().Execute("PRAGMA synchronous=FULL"); !reset) return reset;
  }
  return done;
}

Result<void> JobStore::SaveDocument(std::int64_t uid, const std::string& document,
                                    const std::string& status) {
  auto update = database().Prepare(
      "UPDATE jobs SET document = ?, status = ?, version = version + 1 WHERE uid = ?");
  if (update) update->Bind(document).Bind(status).Bind(uid);
  return RunOne(update);
}

Result<void> JobStore::DeleteJob(std::int64_t uid) {
  auto remove = database().Prepare("DELETE FROM jobs WHERE uid = ?");
  if (remove) remove->Bind(uid);
  return RunOne(remove);
}

Result<std::vector<StoredJob>> JobStore::LoadJobs() {
  auto select = database().Prepare(
      "SELECT uid, namespace, name, created_unix_ns, version, document, status FROM jobs "
      "ORDER BY uid");
  if (!select) return std::unexpected(select.error());
  std::vector<StoredJob> jobs;
  while (true) {
    const auto row = select->Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return jobs;
    jobs.push_back(ReadJob(*select));
  }
}

Result<std::optional<StoredJob>> JobStore::FindJob(const std::string& name_space,
                                                   const std::string& name) {
  auto select = database().Prepare(
      "SELECT uid, namespace, name, created_unix_ns, version, document, status FROM jobs "
      "WHERE namespace = ? AND name = ?");
  if (!select) return std::unexpected(select.error());
  select->Bind(name_space).Bind(name);
  const auto row = select->Step();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::nullopt;
  return ReadJob(*select);
}

Result<std::vector<JobStore::Remembered>> JobStore::LoadRequests() {
  auto select = database().Prepare("SELECT namespace, key, body_digest, uid FROM requests");
  if (!select) return std::unexpected(select.error());
  std::vector<Remembered> requests;
  while (true) {
    const auto row = select->Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return requests;
    requests.push_back({{select->Text(0), select->Text(1), select->Text(2)}, select->Integer(3)});
  }
}

Result<void> JobStore::CreateCluster(const StoredCluster& cluster) {
  auto insert = database().Prepare(
      "INSERT INTO clusters (namespace, name, created_unix_ns, document) VALUES (?, ?, ?, ?)");
  if (!insert) return std::unexpected(insert.error());
  insert->Bind(cluster.name_space).Bind(cluster.name).Bind(cluster.created_unix_ns);
  insert->Bind(cluster.document);
  auto done = insert->Run();
  if (!done && database().LastWasDuplicate()) {
    return Fail(ErrorCode::kAlreadyExists,
                StrCat("simulated cluster '", cluster.name, "' exists already in namespace '",
                       cluster.name_space, "'"));
  }
  return done;
}

Result<void> JobStore::DeleteCluster(const std::string& name_space, const std::string& name) {
  auto remove = database().Prepare("DELETE FROM clusters WHERE namespace = ? AND name = ?");
  if (remove) remove->Bind(name_space).Bind(name);
  return RunOne(remove);
}

Result<std::vector<StoredCluster>> JobStore::LoadClusters() {
  auto select = database().Prepare(
      "SELECT namespace, name, created_unix_ns, document FROM clusters ORDER BY namespace, name");
  if (!select) return std::unexpected(select.error());
  std::vector<StoredCluster> clusters;
  while (true) {
    const auto row = select->Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return clusters;
    clusters.push_back({.name_space = select->Text(0),
                        .name = select->Text(1),
                        .created_unix_ns = select->Integer(2),
                        .document = select->Text(3)});
  }
}

Result<std::int64_t> JobStore::CreateSweep(const StoredSweep& sweep) {
  auto insert = database().Prepare(
      "INSERT INTO sweeps (namespace, name, created_unix_ns, document, status) "
      "VALUES (?, ?, ?, ?, ?)");
  if (!insert) return std::unexpected(insert.error());
  insert->Bind(sweep.name_space).Bind(sweep.name).Bind(sweep.created_unix_ns);
  insert->Bind(sweep.document).Bind(sweep.status);
  if (auto done = insert->Run(); !done) {
    if (!database().LastWasDuplicate()) return std::unexpected(done.error());
    return Fail(ErrorCode::kAlreadyExists,
                StrCat("simulation sweep '", sweep.name, "' exists already in namespace '",
                       sweep.name_space, "'"));
  }
  return database().LastInsertId();
}

Result<void> JobStore::SaveSweep(std::int64_t uid, const std::string& document,
                                 const std::string& status) {
  auto update = database().Prepare("UPDATE sweeps SET document = ?, status = ? WHERE uid = ?");
  if (update) update->Bind(document).Bind(status).Bind(uid);
  return RunOne(update);
}

Result<void> JobStore::SaveSweepDocument(std::int64_t uid, const std::string& document) {
  auto update = database().Prepare("UPDATE sweeps SET document = ? WHERE uid = ?");
  if (update) update->Bind(document).Bind(uid);
  return RunOne(update);
}

Result<void> JobStore::DeleteSweep(std::int64_t uid) {
  auto remove = database().Prepare("DELETE FROM sweeps WHERE uid = ?");
  if (remove) remove->Bind(uid);
  return RunOne(remove);
}

Result<std::vector<StoredSweep>> JobStore::LoadSweeps() {
  auto select = database().Prepare(
      "SELECT uid, namespace, name, created_unix_ns, document, status FROM sweeps ORDER BY uid");
  if (!select) return std::unexpected(select.error());
  std::vector<StoredSweep> sweeps;
  while (true) {
    const auto row = select->Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return sweeps;
    sweeps.push_back({.uid = select->Integer(0),
                      .name_space = select->Text(1),
                      .name = select->Text(2),
                      .created_unix_ns = select->Integer(3),
                      .document = select->Text(4),
                      .status = select->Text(5)});
  }
}

}  // namespace eidolon::controller::store
