// The tables of a store and the checksums of their rows: what a row must hold to count as
// undamaged. A checksum covers a part of a row, because a job's status changes without its
// document.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "services/base/error.h"
#include "services/controller/store/database.h"

namespace eidolon::controller::store {

// 1 had no sweeps, 2 no checksums.
inline constexpr std::int64_t kSchemaVersion = 3;

// The columns of a row that one checksum covers.
struct Part {
  std::string_view name;      // For messages.
  std::string_view checksum;  // The column that holds it.
  std::string_view value;     // The SQL expression that computes it.
};

struct Table {
  std::string_view name;
  std::string_view kind;  // Of a row, for messages: "job".
  std::span<const Part> parts;
};

inline constexpr Part kJobParts[] = {
    {"document", "document_checksum",
     "eidolon_checksum('job', uid, namespace, name, created_unix_ns, document)"},
    {"status", "status_checksum", "eidolon_checksum('job status', uid, version, status)"}};
inline constexpr Part kRequestParts[] = {
    {"key", "checksum", "eidolon_checksum('request', namespace, key, body_digest, uid)"}};
inline constexpr Part kClusterParts[] = {
    {"document", "checksum",
     "eidolon_checksum('cluster', namespace, name, created_unix_ns, document)"}};
inline constexpr Part kSweepParts[] = {
    {"document", "document_checksum",
     "eidolon_checksum('sweep', uid, namespace, name, created_unix_ns, document)"},
    {"status", "status_checksum", "eidolon_checksum('sweep status', uid, status)"}};

inline constexpr Table kJobs = {"jobs", "job", kJobParts};
inline constexpr Table kRequests = {"requests", "request", kRequestParts};
inline constexpr Table kClusters = {"clusters", "cluster", kClusterParts};
inline constexpr Table kSweeps = {"sweeps", "sweep", kSweepParts};
// Rows of later ones refer to rows of earlier ones.
inline constexpr Table kTables[] = {kJobs, kRequests, kClusters, kSweeps};

base::Result<std::int64_t> ReadSchemaVersion(Database* database);
// Creates the tables, or brings those of an earlier version up to date: rows without checksums get
// them as they are. A file of a newer version is refused, not changed.
base::Result<void> PrepareSchema(Database* database);

// Gives the rows that `where` selects, with `bound` for its parameter, the checksums of what they
// hold.
base::Result<void> Seal(Database* database, const Table& table, std::span<const Part> parts,
                        std::string_view where, std::int64_t bound);

// Columns for a SELECT, each preceded by a comma: for each part whether its checksum does not
// match.
std::string DamageColumns(const Table& table);
// Reads them back, from `column` on: "the checksum of its status does not match"; empty when
// intact.
std::string ReadDamage(const Statement& row, int column, const Table& table);

}  // namespace eidolon::controller::store
