// Look-ups happen for every work item, so all rows are in memory and SQLite only keeps them between
// runs. Rows go into the file first and into memory after the commit: what a reader sees is on
// disk, too. SQLite has no unsigned numbers, so the halves of a key are stored by their bits as
// signed ones. An application id and the schema of work keys mark the file; one with other marks
// may belong to somebody and is moved aside, not overwritten. With a write-ahead log and
// synchronous NORMAL a crash of the machine can lose the last rows, but not damage the file.
#include "services/timing/profile/profile_cache.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/timing/kernel/work_key.h"

namespace eidolon::timing::profile {
namespace {

using base::ErrorCode;
using base::Result;
using base::StrCat;

constexpr int kApplicationId = 0x45494450;  // "EIDP" in the file's header.

constexpr const char* kCreate = R"(
CREATE TABLE IF NOT EXISTS profile(gpu TEXT PRIMARY KEY, driver TEXT, cuda TEXT, libraries TEXT,
  clocks TEXT, date TEXT, tool TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS row(gpu TEXT NOT NULL, high INT NOT NULL, low INT NOT NULL,
  class_high INT NOT NULL, class_low INT NOT NULL, size REAL NOT NULL, median_ps INT NOT NULL,
  spread REAL NOT NULL, repetitions INT NOT NULL, PRIMARY KEY(gpu, high, low))
  STRICT, WITHOUT ROWID;
)";

// A prepared statement; finalised at the end of its scope.
class Statement {
 public:
  Statement(sqlite3* file, const char* sql) {
    sqlite3_prepare_v2(file, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  bool valid() const { return statement_ != nullptr; }
  int Step() { return sqlite3_step(statement_); }
  void Reset() { sqlite3_reset(statement_); }
  void Bind(int at, const std::string& text) {
    sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void Bind(int at, std::int64_t value) { sqlite3_bind_int64(statement_, at, value); }
  void Bind(int at, double value) { sqlite3_bind_double(statement_, at, value); }
  std::int64_t Integer(int at) { return sqlite3_column_int64(statement_, at); }
  double Real(int at) { return sqlite3_column_double(statement_, at); }
  std::string Text(int at) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, at));
    return text == nullptr ? "" : text;
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

std::int64_t Signed(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }
std::uint64_t Unsigned(std::int64_t bits) { return static_cast<std::uint64_t>(bits); }

bool Run(sqlite3* file, const std::string& sql) {
  return sqlite3_exec(file, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
}

// The single value of a PRAGMA, "" when there is none.
std::string Ask(sqlite3* file, const char* sql) {
  Statement statement(file, sql);
  return statement.valid() && statement.Step() == SQLITE_ROW ? statement.Text(0) : "";
}

// Returns why an open file cannot be used; empty when it can.
std::string Problem(sqlite3* file) {
  const std::string application = Ask(file, "PRAGMA application_id");
  const std::string tables = Ask(file, "SELECT count(*) FROM sqlite_master");
  if (application.empty() || tables.empty()) return "it is not a database or is damaged";
  if (tables == "0" && application == "0") return "";
  if (application != StrCat(kApplicationId)) return "it belongs to another program";
  const std::string version = Ask(file, "PRAGMA user_version");
  if (version != StrCat(kernel::kSchema)) {
    return StrCat("it has schema ", version, ", this version reads ", kernel::kSchema);
  }
  if (Ask(file, "PRAGMA quick_check") != "ok") return "it is damaged";
  return "";
}

bool Prepare(sqlite3* file) {
  return Run(file, "PRAGMA journal_mode=WAL") && Run(file, "PRAGMA synchronous=NORMAL") &&
         Run(file, StrCat("PRAGMA application_id=", kApplicationId)) &&
         Run(file, StrCat("PRAGMA user_version=", kernel::kSchema)) && Run(file, kCreate);
}

// Renames the file and its journal to the first free "<path>.unusable-<n>". A journal remains where
// another process has the file open: the rows in it are not in the file yet.
bool MoveAside(const std::string& path, const std::string& why) {
  for (int n = 1; n < 1000; ++n) {
    const std::string target = StrCat(path, ".unusable-", n);
    if (std::filesystem::exists(target)) continue;
    std::error_code failed;
    std::filesystem::rename(path, target, failed);
    if (failed) return false;
    for (const char* suffix : {"-wal", "-shm"}) {
      if (!std::filesystem::exists(path + suffix)) continue;
      std::filesystem::rename(path + suffix, target + suffix, failed);
      if (failed) return false;
    }
    base::Log(base::Level::kWarning, "profile_cache_moved_aside",
              {{"file", path}, {"to", target}, {"reason", why}});
    return true;
  }
  return false;
}

Result<sqlite3*> OpenFile(const std::string& path) {
  // A folder or a pipe is nobody's damaged database.
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return base::Fail(ErrorCode::kInvalidArgument,
                      StrCat("profile cache '", path, "': it is not a regular file"));
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    sqlite3* file = nullptr;
    const int code =
        sqlite3_open_v2(path.c_str(), &file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    std::string problem = code == SQLITE_OK ? "" : sqlite3_errmsg(file);
    if (problem.empty()) {
      sqlite3_busy_timeout(file, 5000);
      problem = Problem(file);
    }
    if (problem.empty() && Prepare(file)) return file;
    if (problem.empty()) problem = sqlite3_errmsg(file);
    sqlite3_close(file);
    if (attempt == 1 || !std::filesystem::exists(path) || !MoveAside(path, problem)) {
      return base::Fail(ErrorCode::kUnavailable, StrCat("profile cache '", path, "': ", problem));
    }
  }
  return base::Fail(ErrorCode::kInternal, StrCat("profile cache '", path, "' cannot be opened"));
}

}  // namespace

Result<std::unique_ptr<ProfileCache>> ProfileCache::Open(const std::string& path) {
  std::unique_ptr<ProfileCache> cache(new ProfileCache);
  if (path.empty()) return cache;
  auto file = OpenFile(path);
  if (!file) return std::unexpected(file.error());
  cache->file_ = *file;
  if (auto loaded = cache->Load(); !loaded) return std::unexpected(loaded.error());
  return cache;
}

ProfileCache::~ProfileCache() { sqlite3_close(file_); }

Result<void> ProfileCache::Load() {
  Statement headers(file_, "SELECT gpu, driver, cuda, libraries, clocks, date, tool FROM profile");
  while (headers.valid() && headers.Step() == SQLITE_ROW) {
    Profile& header = tables_[headers.Text(0)].header;
    header.gpu = headers.Text(0);
    header.driver = headers.Text(1);
    header.cuda = headers.Text(2);
    header.libraries = headers.Text(3);
    header.clocks = headers.Text(4);
    header.date = headers.Text(5);
    header.tool = headers.Text(6);
  }
  Statement rows(file_,
                 "SELECT gpu, high, low, class_high, class_low, size, median_ps, spread, "
                 "repetitions FROM row ORDER BY gpu, high, low");
  if (!rows.valid()) return base::Fail(ErrorCode::kCorrupt, sqlite3_errmsg(file_));
  int code = SQLITE_ROW;
  while ((code = rows.Step()) == SQLITE_ROW) {
    ProfileRow row;
    row.key = {Unsigned(rows.Integer(1)), Unsigned(rows.Integer(2))};
    row.class_key = {Unsigned(rows.Integer(3)), Unsigned(rows.Integer(4))};
    row.size = rows.Real(5);
    row.median = base::Duration{std::max<std::int64_t>(rows.Integer(6), 0)};
    row.spread = rows.Real(7);
    row.repetitions = static_cast<std::uint32_t>(rows.Integer(8));
    Remember(rows.Text(0), row);
  }
  if (code != SQLITE_DONE) return base::Fail(ErrorCode::kCorrupt, sqlite3_errmsg(file_));
  return {};
}

void ProfileCache::Remember(const std::string& gpu, const ProfileRow& row) {
  Entries& table = tables_[gpu];
  table.rows[row.key] = row;
  table.classes[row.class_key][row.size] = row.median;
}

std::optional<model::Measurement> ProfileCache::Find(const std::string& gpu,
                                                     base::Digest key) const {
  const std::shared_lock lock(tables_mutex_);
  const auto table = tables_.find(gpu);
  if (table == tables_.end()) return std::nullopt;
  const auto row = table->second.rows.find(key);
  if (row == table->second.rows.end()) return std::nullopt;
  return model::Measurement{row->second.median, row->second.spread};
}

std::vector<model::Neighbour> ProfileCache::Class(const std::string& gpu, base::Digest key) const {
  const std::shared_lock lock(tables_mutex_);
  std::vector<model::Neighbour> points;
  const auto table = tables_.find(gpu);
  if (table == tables_.end()) return points;
  const auto found = table->second.classes.find(key);
  if (found == table->second.classes.end()) return points;
  for (const auto& [size, median] : found->second) points.push_back({size, median});
  return points;
}

Result<void> ProfileCache::Add(const Profile& profile) {
  const std::unique_lock lock(tables_mutex_);
  if (file_ != nullptr) {
    bool good = Run(file_, "BEGIN IMMEDIATE");
    Statement header(file_, "INSERT OR REPLACE INTO profile VALUES(?, ?, ?, ?, ?, ?, ?)");
    int at = 0;
    for (const std::string* text :
         {&profile.gpu, &profile.driver, &profile.cuda, &profile.libraries, &profile.clocks,
          &profile.date, &profile.tool}) {
      header.Bind(++at, *text);
    }
    good = good && header.Step() == SQLITE_DONE;
    Statement insert(file_, "INSERT OR REPLACE INTO row VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (const ProfileRow& row : profile.rows) {
      if (!good) break;
      insert.Bind(1, profile.gpu);
      insert.Bind(2, Signed(row.key.high));
      insert.Bind(3, Signed(row.key.low));
      insert.Bind(4, Signed(row.class_key.high));
      insert.Bind(5, Signed(row.class_key.low));
      insert.Bind(6, row.size);
      insert.Bind(7, row.median.ps);
      insert.Bind(8, row.spread);
      insert.Bind(9, std::int64_t{row.repetitions});
      good = insert.Step() == SQLITE_DONE;
      insert.Reset();
    }
    if (!good || !Run(file_, "COMMIT")) {
      const std::string why = sqlite3_errmsg(file_);
      Run(file_, "ROLLBACK");
      return base::Fail(ErrorCode::kInternal, StrCat("writing the profile cache: ", why));
    }
  }
  Entries& table = tables_[profile.gpu];
  table.header = profile;
  table.header.rows.clear();
  for (const ProfileRow& row : profile.rows) Remember(profile.gpu, row);
  return {};
}

Profile ProfileCache::Export(const std::string& gpu) const {
  const std::shared_lock lock(tables_mutex_);
  const auto table = tables_.find(gpu);
  if (table == tables_.end()) return Profile{.gpu = gpu};
  Profile profile = table->second.header;
  profile.gpu = gpu;
  for (const auto& [key, row] : table->second.rows) profile.rows.push_back(row);
  std::sort(profile.rows.begin(), profile.rows.end(),
            [](const ProfileRow& a, const ProfileRow& b) { return a.key < b.key; });
  return profile;
}

std::uint64_t ProfileCache::row_count() const {
  const std::shared_lock lock(tables_mutex_);
  std::uint64_t count = 0;
  for (const auto& [gpu, table] : tables_) count += table.rows.size();
  return count;
}

}  // namespace eidolon::timing::profile
