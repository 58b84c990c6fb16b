// An update is one transaction of three steps: copy what is damaged, write, seal with new
// checksums. A crash between them leaves the row of before. Opening examines the write-ahead log
// before SQLite does, because SQLite would drop the transactions behind a damaged frame without an
// error. With Durability::kProcess a commit does not wait for the disk (synchronous=NORMAL): the
// kernel has the bytes, which is enough for kill -9 and costs no fsync for progress that changes
// every second. A removed job takes its idempotent requests along (ON DELETE CASCADE).
#include "services/controller/store/job_store.h"

#include "services/base/check.h"
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/controller/store/damaged_records.h"
#include "services/controller/store/write_ahead_log.h"

namespace eidolon::controller::store {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

constexpr char kJobColumns[] = "uid, namespace, name, created_unix_ns, version, document, status";

StoredJob ReadJob(const Statement& row) {
  return {.uid = row.Integer(0),
          .name_space = row.Text(1),
          .name = row.Text(2),
          .created_unix_ns = row.Integer(3),
          .version = row.Integer(4),
          .document = row.Text(5),
          .status = row.Text(6),
          .damage = ReadDamage(row, 7, kJobs)};
}

std::string SelectJobs(std::string_view rest) {
  return StrCat("SELECT ", kJobColumns, DamageColumns(kJobs), " FROM jobs ", rest);
}

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

void LogDamageOf(const KeptLog& log, const std::string& path) {
  const bool is_cut_short = log.corrected.empty() && log.rest && log.rest->is_last;
  base::Log(is_cut_short ? base::Level::kWarning : base::Level::kError, "write_ahead_log_damaged",
            {{"damage", DescribeDamage(log, path)},
             {"way_out", log.rest ? "'eidolon doctor --store' lists damage while no controller "
                                    "runs; submit again what is missing"
                                  : "it was corrected; 'eidolon doctor --store' looks for more "
                                    "damage while no controller runs"}});
}

// Runs a statement whose every parameter is bound.
Result<void> RunOne(Result<Statement>& statement) {
  if (!statement) return std::unexpected(statement.error());
  return statement->Run();
}

}  // namespace

Result<JobStore> JobStore::Open(const std::string& path) {
  const auto damage = KeepDamagedLog(path, FolderOf(path), /*correct=*/true);
  if (!damage) return base::Wrap("opening " + path, damage.error());
  if (*damage) LogDamageOf(**damage, path);
  auto database = Database::Open(path);
  if (!database) return base::Wrap("opening " + path, database.error());
  // Frames behind the damage must not be there when the next opening examines the log.
  if (*damage) {
    if (auto done = database->Rewrite(); !done) return base::Wrap("opening " + path, done.error());
  }
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

// The kernel may report a failed fsync once and drop the pages, so what is on the disk is unknown:
// Rewrite moves all of the log into the file again and checks the result.
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

std::string JobStore::folder() const { return FolderOf(path_); }

Result<void> JobStore::Update(const Table& table, std::span<const Part> parts, std::string_view sql,
                              std::initializer_list<std::string> values, std::int64_t row_id) {
  auto transaction = Transaction::Begin(&database());
  if (!transaction) return std::unexpected(transaction.error());
  if (auto kept = KeepDamaged(&database(), table, parts, row_id, folder()); !kept) return kept;
  {
    auto update = database().Prepare(sql);
    if (!update) return std::unexpected(update.error());
    for (const std::string& value : values) update->Bind(value);
    update->Bind(row_id);
    if (auto done = update->Run(); !done) return done;
  }
  if (auto sealed = Seal(&database(), table, parts, "rowid = ?", row_id); !sealed) return sealed;
  return transaction->Commit();
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
  if (auto sealed = Seal(&database(), kJobs, kJobParts, "rowid = ?", job.uid); !sealed) {
    return std::unexpected(sealed.error());
  }
  if (request) {
    if (auto done = Remember(*request, job.uid); !done) return std::unexpected(done.error());
  }
  if (auto done = transaction->Commit(); !done) return std::unexpected(done.error());
  return job;
}

Result<void> JobStore::Remember(const IdempotentRequest& request, std::int64_t uid) {
  {
    // The job of an earlier request with this key is gone, or the row is damaged.
    auto select = database().Prepare("SELECT rowid FROM requests WHERE namespace = ? AND key = ?");
    if (!select) return std::unexpected(select.error());
    select->Bind(request.name_space).Bind(request.key);
    const auto row = select->Step();
    if (!row) return std::unexpected(row.error());
    if (*row) {
      auto kept = KeepDamaged(&database(), kRequests, kRequestParts, select->Integer(0), folder());
      if (!kept) return kept;
    }
  }
  auto insert = database().Prepare(
      "INSERT OR REPLACE INTO requests (namespace, key, body_digest, uid) VALUES (?, ?, ?, ?)");
  if (!insert) return std::unexpected(insert.error());
  insert->Bind(request.name_space).Bind(request.key).Bind(request.body_digest).Bind(uid);
  if (auto done = insert->Run(); !done) return done;
  return Seal(&database(), kRequests, kRequestParts, "rowid = ?", database().LastInsertId());
}

Result<void> JobStore::SaveStatus(std::int64_t uid, const std::string& status,
                                  Durability durability) {
  // Without the wait for the disk a commit is still safe from kill -9: the kernel has the bytes.
  if (durability == Durability::kProcess) {
    if (auto set = database().Execute("PRAGMA synchronous=NORMAL"); !set) return set;
  }
  Result<void> done =
      Update(kJobs, std::span(kJobParts).subspan(1),
             "UPDATE jobs SET status = ?, version = version + 1 WHERE uid = ?", {status}, uid);
  if (durability == Durability::kProcess) {
    if (auto reset = database().Execute("PRAGMA synchronous=FULL"); !reset) return reset;
  }
  return done;
}

Result<void> JobStore::SaveDocument(std::int64_t uid, const std::string& document,
                                    const std::string& status) {
  return Update(kJobs, kJobParts,
                "UPDATE jobs SET document = ?, status = ?, version = version + 1 WHERE uid = ?",
                {document, status}, uid);
}

Result<void> JobStore::DeleteJob(std::int64_t uid) {
  auto remove = database().Prepare("DELETE FROM jobs WHERE uid = ?");
  if (remove) remove->Bind(uid);
  return RunOne(remove);
}

Result<std::vector<StoredJob>> JobStore::LoadJobs() {
  auto select = database().Prepare(SelectJobs("ORDER BY uid"));
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
  auto select = database().Prepare(SelectJobs("WHERE namespace = ? AND name = ?"));
  if (!select) return std::unexpected(select.error());
  select->Bind(name_space).Bind(name);
  const auto row = select->Step();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::nullopt;
  return ReadJob(*select);
}

Result<std::vector<JobStore::Remembered>> JobStore::LoadRequests() {
  auto select = database().Prepare(StrCat("SELECT rowid, namespace, key, body_digest, uid",
                                          DamageColumns(kRequests), " FROM requests"));
  if (!select) return std::unexpected(select.error());
  std::vector<Remembered> requests;
  while (true) {
    const auto row = select->Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return requests;
    if (const std::string damage = ReadDamage(*select, 5, kRequests); !damage.empty()) {
      base::Log(base::Level::kError, "damaged_request_ignored",
                {{"record", StrCat("request ", select->Integer(0))},
                 {"damage", damage},
                 {"meaning", "a repetition of the request creates another job"}});
      continue;
    }
    requests.push_back({{select->Text(1), select->Text(2), select->Text(3)}, select->Integer(4)});
  }
}

Result<void> JobStore::CreateCluster(const StoredCluster& cluster) {
  auto transaction = Transaction::Begin(&database());
  if (!transaction) return std::unexpected(transaction.error());
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
  if (!done) return done;
  if (auto sealed =
          Seal(&database(), kClusters, kClusterParts, "rowid = ?", database().LastInsertId());
      !sealed) {
    return sealed;
  }
  return transaction->Commit();
}

Result<void> JobStore::DeleteCluster(const std::string& name_space, const std::string& name) {
  auto remove = database().Prepare("DELETE FROM clusters WHERE namespace = ? AND name = ?");
  if (remove) remove->Bind(name_space).Bind(name);
  return RunOne(remove);
}

Result<std::vector<StoredCluster>> JobStore::LoadClusters() {
  auto select = database().Prepare(StrCat("SELECT namespace, name, created_unix_ns, document",
                                          DamageColumns(kClusters),
                                          " FROM clusters ORDER BY namespace, name"));
  if (!select) return std::unexpected(select.error());
  std::vector<StoredCluster> clusters;
  while (true) {
    const auto row = select->Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return clusters;
    clusters.push_back({.name_space = select->Text(0),
                        .name = select->Text(1),
                        .created_unix_ns = select->Integer(2),
                        .document = select->Text(3),
                        .damage = ReadDamage(*select, 4, kClusters)});
  }
}

Result<std::int64_t> JobStore::CreateSweep(const StoredSweep& sweep) {
  auto transaction = Transaction::Begin(&database());
  if (!transaction) return std::unexpected(transaction.error());
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
  const std::int64_t uid = database().LastInsertId();
  if (auto sealed = Seal(&database(), kSweeps, kSweepParts, "rowid = ?", uid); !sealed) {
    return std::unexpected(sealed.error());
  }
  if (auto done = transaction->Commit(); !done) return std::unexpected(done.error());
  return uid;
}

Result<void> JobStore::SaveSweep(std::int64_t uid, const std::string& document,
                                 const std::string& status) {
  return Update(kSweeps, kSweepParts, "UPDATE sweeps SET document = ?, status = ? WHERE uid = ?",
                {document, status}, uid);
}

Result<void> JobStore::SaveSweepDocument(std::int64_t uid, const std::string& document) {
  return Update(kSweeps, std::span(kSweepParts).first(1),
                "UPDATE sweeps SET document = ? WHERE uid = ?", {document}, uid);
}

Result<void> JobStore::DeleteSweep(std::int64_t uid) {
  auto remove = database().Prepare("DELETE FROM sweeps WHERE uid = ?");
  if (remove) remove->Bind(uid);
  return RunOne(remove);
}

Result<std::vector<StoredSweep>> JobStore::LoadSweeps() {
  auto select =
      database().Prepare(StrCat("SELECT uid, namespace, name, created_unix_ns, document, status",
                                DamageColumns(kSweeps), " FROM sweeps ORDER BY uid"));
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
                      .status = select->Text(5),
                      .damage = ReadDamage(*select, 6, kSweeps)});
  }
}

}  // namespace eidolon::controller::store
