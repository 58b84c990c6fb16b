// SQLite ends a SELECT at the first page that it cannot read, so the rows behind it need another
// SELECT that starts further on. Where the damage ends is unknown: the copier skips row numbers by
// steps that grow by about an eighth, from 1 up to kGapMax, and begins with small steps again after
// each row it has saved. The exchange at the end keeps two promises in case of a crash: some
// jobs.db exists at every moment, and no jobs.db lies beside the log of another one.
#include "services/controller/store/salvage.h"

#include <filesystem>
#include <string_view>

#include "services/base/text.h"
#include "services/controller/store/database.h"
#include "services/controller/store/store_schema.h"

namespace eidolon::controller::store {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
namespace fs = std::filesystem;

// Rows behind an unreadable one are looked for this far.
constexpr std::int64_t kGapMax = std::int64_t{1} << 40;

bool HasColumn(const Statement& row, std::string_view name) {
  for (int column = 0; column < row.columns(); ++column) {
    if (row.Name(column) == name) return true;
  }
  return false;
}

// Copies from the damaged database to the new one, table by table.
class RowCopier {
 public:
  RowCopier(Database* from, Database* to) : from_(*from), to_(*to) {}

  Result<void> CopyTable(const Table& table) {
    std::int64_t next = INT64_MIN;
    std::int64_t gap = 1;
    while (gap < kGapMax) {
      const std::int64_t before = copied_;
      auto end = CopyFrom(table, &next);
      if (!end) return std::unexpected(end.error());
      if (*end) break;
      // What is behind the damage may be readable.
      if (copied_ > before) gap = 1;
      next = (next == INT64_MIN ? 0 : next) + gap;
      gap += 1 + gap / 8;
    }
    return sealed_ ? Result<void>() : Seal(&to_, table, table.parts, "rowid >= ?", INT64_MIN);
  }

  std::int64_t copied() const { return copied_; }

 private:
  // Answers whether the table's end was reached; `next` is the row behind the last one copied.
  Result<bool> CopyFrom(const Table& table, std::int64_t* next) {
    auto select = from_.Prepare(
        StrCat("SELECT rowid, * FROM ", table.name, " WHERE rowid >= ? ORDER BY rowid"));
    if (!select) return true;  // An earlier version had no such table.
    select->Bind(*next);
    while (true) {
      const auto row = select->Step();
      if (!row) return false;
      if (!*row) return true;
      sealed_ = HasColumn(*select, table.parts.front().checksum);
      if (auto copied = CopyRow(table, *select); !copied) return std::unexpected(copied.error());
      *next = select->Integer(0) + 1;
    }
  }

  Result<void> CopyRow(const Table& table, const Statement& row) {
    std::string names, marks;
    for (int column = 1; column < row.columns(); ++column) {
      names += StrCat(column == 1 ? "" : ", ", row.Name(column));
      marks += column == 1 ? "?" : ", ?";
    }
    // Rows that contradict earlier ones stay in the damaged file.
    auto insert = to_.Prepare(
        StrCat("INSERT OR IGNORE INTO ", table.name, " (", names, ") VALUES (", marks, ")"));
    if (!insert) return std::unexpected(insert.error());
    for (int column = 1; column < row.columns(); ++column) insert->Bind(row, column);
    auto done = insert->Run();
    if (done) copied_ += to_.Changes();
    return done;
  }

  Database& from_;
  Database& to_;
  bool sealed_ = true;  // The old file has checksums.
  std::int64_t copied_ = 0;
};

Result<std::int64_t> CopyAll(const std::string& from, const std::string& to, std::int64_t uid_min) {
  auto fresh = Database::Open(to);
  if (!fresh) return std::unexpected(fresh.error());
  if (auto made = PrepareSchema(&*fresh); !made) return std::unexpected(made.error());
  std::int64_t rows = 0;
  // A file that cannot be opened at all has no rows to save.
  if (auto damaged = Database::Open(from)) {
    // Rows of requests that refer to lost jobs are found by the check that follows.
    if (auto off = fresh->Execute("PRAGMA foreign_keys=OFF"); !off) {
      return std::unexpected(off.error());
    }
    auto transaction = Transaction::Begin(&*fresh);
    if (!transaction) return std::unexpected(transaction.error());
    RowCopier copier(&*damaged, &*fresh);
    for (const Table& table : kTables) {
      if (auto copied = copier.CopyTable(table); !copied) return std::unexpected(copied.error());
    }
    if (auto done = transaction->Commit(); !done) return std::unexpected(done.error());
    rows = copier.copied();
  }
  for (const Table& table : {kJobs, kSweeps}) {
    const std::string update =
        StrCat("DELETE FROM sqlite_sequence WHERE name = '", table.name,
               "'; INSERT INTO sqlite_sequence (name, seq) SELECT '", table.name, "', MAX(",
               uid_min, ", COALESCE((SELECT MAX(uid) FROM ", table.name, "), 0))");
    if (auto done = fresh->Execute(update); !done) return std::unexpected(done.error());
  }
  if (auto done = fresh->Rewrite(); !done) return std::unexpected(done.error());
  return rows;
}

std::string FreePath(const std::string& wanted) {
  std::error_code ignored;
  std::string path = wanted;
  for (int i = 2; fs::exists(path, ignored); ++i) path = StrCat(wanted, "-", i);
  return path;
}

}  // namespace

Result<Salvaged> Salvage(const std::string& folder, std::int64_t uid_min) {
  const std::string path = folder + "/jobs.db", fresh = path + ".new";
  std::error_code error;
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(fresh + suffix, error);
  const auto rows = CopyAll(path, fresh, uid_min);
  if (!rows) return base::Wrap("saving the rows of " + path, rows.error());
  fs::remove(fresh + "-wal", error);  // It was emptied.
  const std::string damaged = folder + "/damaged";
  fs::create_directory(damaged, error);
  fs::permissions(damaged, fs::perms::owner_all, error);
  const std::string aside = FreePath(damaged + "/jobs.db");
  // At every moment there is a store with this name, and a log only beside the file that it is of.
  if (fs::exists(path + "-wal", error)) fs::copy_file(path + "-wal", aside + "-wal", error);
  if (!error) fs::create_hard_link(path, aside, error);
  if (!error) fs::remove(path + "-wal", error);
  if (!error) fs::rename(fresh, path, error);
  if (error) {
    return Fail(ErrorCode::kUnavailable,
                StrCat("exchanging ", path, " and ", fresh, ": ", error.message()));
  }
  return Salvaged{.rows = *rows, .aside = aside};
}

}  // namespace eidolon::controller::store
