// The end of a job must be storable although the disk is full, which SQLite alone cannot promise: a
// commit extends the write-ahead log. Three settings together make sure that a commit needs no new
// block for a while. The log is short (it is moved into the file after kCheckpointPages pages), it
// is never removed (PERSIST_WAL), and KeepReserve allocates blocks behind its end. The exclusive
// mode keeps the index of the log in memory, so that no second file has to grow. The checksum
// function hashes each value with its type and size, so that moving bytes from one column to the
// next changes the result.
#include "services/controller/store/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "services/base/hash.h"
#include "services/base/hex.h"
#include "services/base/text.h"

namespace eidolon::controller::store {

using base::ErrorCode;
using base::Fail;
using base::Result;

namespace {

// A log this long is moved into the file; the reserve holds it and as much again several times.
constexpr int kCheckpointPages = 256;
constexpr off_t kReserveBytes = 4 << 20;

ErrorCode CodeOf(int code, int system_error) {
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) return ErrorCode::kCorrupt;
  const bool of_disk = code == SQLITE_IOERR || code == SQLITE_READONLY || code == SQLITE_CANTOPEN;
  const bool no_space = system_error == ENOSPC || system_error == EDQUOT;
  if (code == SQLITE_FULL || (of_disk && no_space)) return ErrorCode::kResourceExhausted;
  return of_disk ? ErrorCode::kUnavailable : ErrorCode::kInternal;
}

base::Error ErrorOf(sqlite3* handle) {
  const int code = sqlite3_errcode(handle);
  const int system_error = sqlite3_system_errno(handle);
  const char* file = sqlite3_db_filename(handle, "main");
  std::string message =
      base::StrCat("SQLite: ", file == nullptr ? "" : file, ": ", sqlite3_errmsg(handle));
  // SQLite keeps the system's error of these two alone.
  const bool by_system = code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
  if (by_system && system_error != 0) {
    message += base::StrCat(" (", std::strerror(system_error), ")");
  }
  return {CodeOf(code, system_error), message};
}

template <typename T>
void AppendRaw(std::string* bytes, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes->append(raw, sizeof raw);
}

void Checksum(sqlite3_context* context, int count, sqlite3_value** values) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    const int type = sqlite3_value_type(values[i]);
    bytes += static_cast<char>(type);
    if (type == SQLITE_INTEGER) {
      AppendRaw(&bytes, std::int64_t{sqlite3_value_int64(values[i])});
      continue;
    }
    const auto* data = static_cast<const char*>(sqlite3_value_blob(values[i]));
    const int size = sqlite3_value_bytes(values[i]);
    AppendRaw(&bytes, std::int64_t{size});
    if (size > 0) bytes.append(data, static_cast<std::size_t>(size));
  }
  const base::Digest digest = base::Hash128(bytes.data(), bytes.size());
  const std::string text = base::Hex(digest);
  sqlite3_result_text(context, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

}  // namespace

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::Bind(std::int64_t value) {
  sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Statement& Statement::Bind(const std::string& value) {
  sqlite3_bind_text64(statement_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

Result<bool> Statement::Step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return std::unexpected(ErrorOf(sqlite3_db_handle(statement_)));
}

Result<void> Statement::Run() {
  while (true) {
    const Result<bool> row = Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
  }
}

std::int64_t Statement::Integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return text == nullptr ? "" : std::string(text, static_cast<std::size_t>(size));
}

int Statement::columns() const { return sqlite3_column_count(statement_); }

std::string Statement::Name(int column) const { return sqlite3_column_name(statement_, column); }

Statement& Statement::Bind(const Statement& row, int column) {
  sqlite3_bind_value(statement_, ++bound_, sqlite3_column_value(row.statement_, column));
  return *this;
}

Result<Database> Database::Open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  Database database(handle);
  if (code != SQLITE_OK) return std::unexpected(ErrorOf(handle));
  sqlite3_busy_timeout(handle, 5000);
  sqlite3_create_function(handle, "eidolon_checksum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                          nullptr, &Checksum, nullptr, nullptr);
  // Exclusive: the index of the log is then kept in memory, not in a file that a full disk refuses.
  for (const char* pragma : {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL",
                             "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON"}) {
    if (auto done = database.Execute(pragma); !done) return std::unexpected(done.error());
  }
  sqlite3_wal_autocheckpoint(handle, kCheckpointPages);
  // The log's blocks stay its own when the last connection closes.
  int persist = 1;
  sqlite3_file_control(handle, "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
  return database;
}

Database::~Database() { sqlite3_close(handle_); }

Result<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return std::unexpected(ErrorOf(handle_));
  return Statement(statement);
}

Result<void> Database::Execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return std::unexpected(ErrorOf(handle_));
  }
  return {};
}

std::int64_t Database::LastInsertId() const { return sqlite3_last_insert_rowid(handle_); }

int Database::Changes() const { return sqlite3_changes(handle_); }

bool Database::LastWasDuplicate() const {
  const int code = sqlite3_extended_errcode(handle_);
  return code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY;
}

Result<void> Database::KeepReserve() {
  const std::string log = base::StrCat(sqlite3_db_filename(handle_, "main"), "-wal");
  const int fd = open(log.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return {};  // Made by the first write.
  const int failed = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, kReserveBytes) == 0 ? 0 : errno;
  close(fd);
  if (failed != ENOSPC && failed != EDQUOT) return {};
  return Fail(ErrorCode::kResourceExhausted,
              base::StrCat("reserving ", kReserveBytes >> 20, " MiB for ", log, ": ",
                           std::strerror(failed)));
}

Result<void> Database::Rewrite() {
  {
    auto checkpoint = Prepare("PRAGMA wal_checkpoint(TRUNCATE)");
    if (!checkpoint) return std::unexpected(checkpoint.error());
    const auto row = checkpoint->Step();
    if (!row) return std::unexpected(row.error());
    if (checkpoint->Integer(0) != 0) {
      return Fail(ErrorCode::kUnavailable, "SQLite: the write-ahead log could not be emptied");
    }
  }
  auto check = Prepare("PRAGMA quick_check(1)");
  if (!check) return std::unexpected(check.error());
  const auto row = check->Step();
  if (!row) return std::unexpected(row.error());
  if (check->Text(0) == "ok") return {};
  return Fail(ErrorCode::kCorrupt, base::StrCat("SQLite: ", sqlite3_db_filename(handle_, "main"),
                                                " is damaged: ", check->Text(0)));
}

Result<Transaction> Transaction::Begin(Database* database) {
  if (auto begun = database->Execute("BEGIN IMMEDIATE"); !begun) {
    return std::unexpected(begun.error());
  }
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) (void)database_->Execute("ROLLBACK");
}

Result<void> Transaction::Commit() {
  if (auto done = database_->Execute("COMMIT"); !done) return done;
  database_ = nullptr;
  return {};
}

}  // namespace eidolon::controller::store
