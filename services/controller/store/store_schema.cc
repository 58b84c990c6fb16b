// SQLite itself computes the checksums, as a function in SQL: a write seals a row by one UPDATE in
// its own transaction, and a read compares in its own SELECT, so neither can forget a column. `IS
// NOT` instead of `<>` lets a NULL count as damage. The text of the schema stays that of version 2,
// and AddChecksums makes version 3 of it; a new store takes the same way as an old one, so that the
// upgrade is tested by each start with an empty folder. Nothing is written to a store that is up to
// date: a full disk must not keep a controller from starting.
#include "services/controller/store/store_schema.h"

#include "services/base/text.h"

namespace eidolon::controller::store {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

// Schema of version 2.
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

Result<void> AddChecksums(Database* database) {
  for (const Table& table : kTables) {
    for (const Part& part : table.parts) {
      if (auto added = database->Execute(StrCat("ALTER TABLE ", table.name, " ADD COLUMN ",
                                                part.checksum, " TEXT NOT NULL DEFAULT ''"));
          !added) {
        return added;
      }
    }
    if (auto sealed = Seal(database, table, table.parts, "rowid >= ?", INT64_MIN); !sealed) {
      return sealed;
    }
  }
  return {};
}

}  // namespace

Result<std::int64_t> ReadSchemaVersion(Database* database) {
  auto version = database->Prepare("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  if (auto row = version->Step(); !row) return std::unexpected(row.error());
  return version->Integer(0);
}

Result<void> PrepareSchema(Database* database) {
  const auto found = ReadSchemaVersion(database);
  if (!found) return std::unexpected(found.error());
  if (*found > kSchemaVersion) {
    return Fail(ErrorCode::kFailedPrecondition,
                StrCat("the file has schema version ", *found, ", this program knows ",
                       kSchemaVersion, "; use the program that wrote it or another data folder"));
  }
  if (*found == kSchemaVersion) return {};  // A full disk does not keep a controller from starting.
  auto transaction = Transaction::Begin(database);
  if (!transaction) return std::unexpected(transaction.error());
  if (auto made = database->Execute(kSchema); !made) return made;
  if (auto added = AddChecksums(database); !added) return added;
  if (auto set = database->Execute(StrCat("PRAGMA user_version=", kSchemaVersion)); !set) {
    return set;
  }
  return transaction->Commit();
}

Result<void> Seal(Database* database, const Table& table, std::span<const Part> parts,
                  std::string_view where, std::int64_t bound) {
  std::string assignments;
  for (const Part& part : parts) {
    assignments += StrCat(assignments.empty() ? "" : ", ", part.checksum, " = ", part.value);
  }
  auto update =
      database->Prepare(StrCat("UPDATE ", table.name, " SET ", assignments, " WHERE ", where));
  if (!update) return std::unexpected(update.error());
  update->Bind(bound);
  return update->Run();
}

std::string DamageColumns(const Table& table) {
  std::string columns;
  for (const Part& part : table.parts) {
    columns += StrCat(", ", part.checksum, " IS NOT ", part.value);
  }
  return columns;
}

std::string ReadDamage(const Statement& row, int column, const Table& table) {
  std::string names;
  for (const Part& part : table.parts) {
    if (row.Integer(column++) != 0) names += StrCat(names.empty() ? "" : " and ", part.name);
  }
  return names.empty() ? "" : StrCat("the checksum of its ", names, " does not match");
}

}  // namespace eidolon::controller::store
