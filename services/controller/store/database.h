// A thin, safe face of SQLite: statements with bound values, transactions, our errors. It keeps
// some space of the disk for itself, so that what must be written still can be when the disk is
// full.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "services/base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace eidolon::controller::store {

// A compiled statement. Bind all parameters in order, then Step. Must not outlive its database.
class Statement {
 public:
  Statement(Statement&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Statement& Bind(std::int64_t value);
  Statement& Bind(const std::string& value);
  // True: a row can be read. False: done.
  base::Result<bool> Step();
  // Runs to the end and forgets rows.
  base::Result<void> Run();
  // Columns of the current row, from 0.
  std::int64_t Integer(int column) const;
  std::string Text(int column) const;
  int columns() const;
  std::string Name(int column) const;
  // Binds a column of another statement's current row, with its type.
  Statement& Bind(const Statement& row, int column);

 private:
  friend class Database;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

// Owns the connection. Not thread safe.
class Database {
 public:
  // SQL gets a function eidolon_checksum(...): XXH3-128 of its arguments, each with type and size,
  // in hexadecimal. Opens or creates the file with a write-ahead log, for this connection alone;
  // commits wait for the disk. Errors of writes: kResourceExhausted for a disk without space,
  // kUnavailable for another failure of the disk, kCorrupt.
  static base::Result<Database> Open(const std::string& path);
  Database(Database&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Database& operator=(Database&&) = delete;
  ~Database();

  base::Result<Statement> Prepare(std::string_view sql);
  // Statements without results.
  base::Result<void> Execute(const std::string& sql);
  std::int64_t LastInsertId() const;
  // Rows that the last INSERT, UPDATE or DELETE has changed.
  int Changes() const;
  // The last failure was a violated UNIQUE or PRIMARY KEY.
  bool LastWasDuplicate() const;

  // Takes what the write-ahead log may need from the disk beforehand, as blocks behind its end that
  // nobody else can use. Fails when the disk has no space; a file system that cannot do it is fine.
  base::Result<void> KeepReserve();
  // Moves the write-ahead log into the file and empties it, every byte written anew, and checks the
  // file. After a failed fsync nothing else tells what is on the disk.
  base::Result<void> Rewrite();

 private:
  explicit Database(sqlite3* handle) : handle_(handle) {}

  sqlite3* handle_ = nullptr;
};

// Rolls back unless committed.
class Transaction {
 public:
  static base::Result<Transaction> Begin(Database* database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  base::Result<void> Commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}

  Database* database_;
};

}  // namespace eidolon::controller::store
