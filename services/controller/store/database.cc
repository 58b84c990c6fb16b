#include "services/controller/store/database.h"

#include <sqlite3.h>

namespace eidolon::controller::store {

using base::ErrorCode;
using base::Fail;
using base::Result;

namespace {

base::Error ErrorOf(sqlite3* handle) {
  const int code = sqlite3_errcode(handle);
  const bool corrupt = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
  return {corrupt ? ErrorCode::kCorrupt : ErrorCode::kInternal,
          std::string("SQLite: ") + sqlite3_errmsg(handle)};
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

Result<Database> Database::Open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  Database database(handle);
  if (code != SQLITE_OK) return Fail(ErrorCode::kInternal, sqlite3_errstr(code));
  sqlite3_busy_timeout(handle, 5000);
  for (const char* pragma :
       {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON"}) {
    if (auto done = database.Execute(pragma); !done) return std::unexpected(done.error());
  }
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

bool Database::LastWasDuplicate() const {
  const int code = sqlite3_extended_errcode(handle_);
  return code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY;
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
