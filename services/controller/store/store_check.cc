// The checks go from the outside to the inside, because each needs what the one before has
// repaired: the write-ahead log, the pages of the file, the rows, the files that jobs have left.
// The log comes first, as opening the database lets SQLite drop what follows a damaged frame. A row
// counts as intact if its checksums match and its document can be read back (DamageOf), which finds
// what was wrong before it was stored. Damaged rows are collected first and settled later: a table
// does not change while a statement reads it. DataDirectory::Open keeps controllers out meanwhile.
#include "services/controller/store/store_check.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "services/base/text.h"
#include "services/controller/store/damaged_records.h"
#include "services/controller/store/data_directory.h"
#include "services/controller/store/database.h"
#include "services/controller/store/job_log.h"
#include "services/controller/store/job_store.h"
#include "services/controller/store/record_form.h"
#include "services/controller/store/salvage.h"
#include "services/controller/store/store_schema.h"
#include "services/controller/store/write_ahead_log.h"

namespace eidolon::controller::store {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using State = StoreFinding::State;
namespace fs = std::filesystem;

constexpr int kProblemsMax = 20;  // Of the file's structure; more say no more.
constexpr char kFile[] = "jobs.db";

std::string Shown(std::string_view kind, std::int64_t row, const std::string& name) {
  return StrCat(kind, " ", row, name.empty() ? "" : StrCat(" (", name, ")"));
}

// Numbers of jobs in the names of what they have left: logs/7.log.
std::vector<std::int64_t> UidsOfFiles(const std::string& folder) {
  std::vector<std::int64_t> uids;
  std::error_code ignored;
  for (const char* below : {"/logs", "/events", "/timelines", "/recordings", "/damaged"}) {
    for (const auto& entry : fs::directory_iterator(folder + below, ignored)) {
      std::string stem = entry.path().stem().string();
      if (stem.starts_with("job-")) stem.erase(0, 4);
      if (const auto uid = base::ParseInteger(stem)) uids.push_back(*uid);
    }
  }
  return uids;
}

class Checker {
 public:
  Checker(const StoreCheck& check, const DataDirectory& directory)
      : folder_(check.folder), repair_(check.repair), directory_(directory) {}

  Result<std::vector<StoreFinding>> Run() {
    if (auto checked = CheckLog(); !checked) return std::unexpected(checked.error());
    if (auto checked = CheckFile(); !checked) return std::unexpected(checked.error());
    if (database_) {
      if (auto checked = CheckRecords(); !checked) return std::unexpected(checked.error());
    }
    return std::move(findings_);
  }

 private:
  void Add(State state, std::string subject, std::string text) {
    findings_.push_back({state, std::move(subject), std::move(text)});
  }

  // Called before SQLite reads the write-ahead log, and drops what is behind damage.
  Result<void> CheckLog() {
    const std::string path = directory_.database_path();
    const auto damage = KeepDamagedLog(path, folder_, repair_);
    if (!damage) return std::unexpected(damage.error());
    if (!*damage) return {};
    const KeptLog& log = **damage;
    const bool is_cut_short = log.corrected.empty() && log.rest && log.rest->is_last;
    const State state = repair_ ? State::kRepaired : State::kDamaged;
    Add(is_cut_short ? State::kNote : state, kFile + std::string("-wal"),
        DescribeDamage(log, path));
    if (!repair_) return {};
    // A file that cannot be opened is what the next check is about.
    if (auto opened = Database::Open(path)) (void)opened->Rewrite();
    return {};
  }

  // The structure of the file. Afterwards `database_` is open, if the rows can be looked at.
  Result<void> CheckFile() {
    const std::vector<std::string> problems = OpenAndExamine();
    if (too_new_) return std::unexpected(*too_new_);
    if (problems.empty()) {
      Add(State::kGood, kFile, "its structure is intact");
      return PrepareRecords();
    }
    if (!repair_) {
      for (const std::string& problem : problems) Add(State::kDamaged, kFile, problem);
      return {};
    }
    // Damage of an index alone needs no new file.
    if (database_ && database_->Execute("REINDEX") && FindProblems().empty()) {
      for (const std::string& problem : problems) {
        Add(State::kRepaired, kFile, StrCat(problem, ": the indexes were built again"));
      }
      return PrepareRecords();
    }
    return Rebuild(problems);
  }

  std::vector<std::string> OpenAndExamine() {
    auto opened = Database::Open(directory_.database_path());
    if (!opened) return {opened.error().message};
    const auto version = ReadSchemaVersion(&*opened);
    if (!version) return {version.error().message};
    if (*version > kSchemaVersion) {
      too_new_ = PrepareSchema(&*opened).error();
      return {};
    }
    version_ = *version;
    database_.emplace(std::move(*opened));
    return FindProblems();
  }

  std::vector<std::string> FindProblems() {
    auto check = database_->Prepare(StrCat("PRAGMA integrity_check(", kProblemsMax, ")"));
    if (!check) return {check.error().message};
    std::vector<std::string> problems;
    while (true) {
      const auto row = check->Step();
      if (!row) problems.push_back(row.error().message);
      if (!row || !*row) return problems;
      if (check->Text(0) != "ok") problems.push_back(check->Text(0));
    }
  }

  Result<void> Rebuild(const std::vector<std::string>& problems) {
    database_.reset();
    std::int64_t uid_min = 0;
    for (const std::int64_t uid : UidsOfFiles(folder_)) uid_min = std::max(uid_min, uid);
    const auto salvaged = Salvage(folder_, uid_min);
    if (!salvaged) return std::unexpected(salvaged.error());
    for (const std::string& problem : problems) {
      Add(State::kRepaired, kFile,
          StrCat(problem, ": ", salvaged->rows, " row(s) were saved; the damaged file is ",
                 salvaged->aside));
    }
    auto opened = Database::Open(directory_.database_path());
    if (!opened) return std::unexpected(opened.error());
    database_.emplace(std::move(*opened));
    version_ = kSchemaVersion;
    return {};
  }

  Result<void> PrepareRecords() {
    if (version_ == kSchemaVersion) return {};
    Add(State::kNote, kFile,
        version_ == 0
            ? "it has no tables yet"
            : StrCat("an earlier version wrote it, without checksums",
                     repair_ ? ": they were added" : "; the next start or --repair adds them"));
    if (!repair_) return {};
    version_ = kSchemaVersion;
    return PrepareSchema(&*database_);
  }

  Result<void> CheckRecords() {
    if (version_ == 0) return CheckFiles();
    for (const Table& table : kTables) {
      const bool had_sweeps = version_ > 1;
      if (!had_sweeps && table.name == kSweeps.name) continue;
      if (auto checked = CheckTable(table); !checked) return checked;
    }
    return CheckFiles();
  }

  Result<void> CheckTable(const Table& table) {
    struct Row {
      DamagedRecord record;
      std::string name;
    };
    std::vector<Row> damaged;
    std::int64_t rows = 0;
    {
      const auto parts = version_ == kSchemaVersion ? table.parts : std::span<const Part>();
      const Table sealed = {table.name, table.kind, parts};
      auto select = database_->Prepare(StrCat("SELECT rowid, *", DamageColumns(sealed), " FROM ",
                                              table.name, " ORDER BY rowid"));
      if (!select) return std::unexpected(select.error());
      while (true) {
        const auto row = select->Step();
        if (!row && (repair_ || row.error().code != ErrorCode::kCorrupt)) {
          return std::unexpected(row.error());
        }
        if (!row) {
          Add(State::kDamaged, std::string(table.name),
              StrCat("what follows the first ", rows, " row(s) cannot be read"));
          break;
        }
        if (!*row) break;
        ++rows;
        const std::string what = ExamineRow(*select, sealed);
        const std::string name = NameOf(*select);
        if (!what.empty()) damaged.push_back({{&table, select->Integer(0), what}, name});
      }
    }
    for (const Row& row : damaged) {
      if (auto settled = Settle(row.record, row.name); !settled) return settled;
    }
    const auto intact = rows - static_cast<std::int64_t>(damaged.size());
    Add(State::kGood, std::string(table.name), StrCat(intact, " of ", rows, " intact"));
    return {};
  }

  static std::map<std::string, std::string> ColumnsOf(const Statement& row) {
    std::map<std::string, std::string> columns;
    for (int column = 1; column < row.columns(); ++column) {
      columns.emplace(row.Name(column), row.Text(column));
    }
    return columns;
  }

  static std::string NameOf(const Statement& row) {
    auto columns = ColumnsOf(row);
    return columns["namespace"] + "/" +
           (columns.contains("name") ? columns["name"] : columns["key"]);
  }

  std::string ExamineRow(const Statement& row, const Table& table) {
    auto columns = ColumnsOf(row);
    const int parts = static_cast<int>(table.parts.size());
    const std::string damage = ReadDamage(row, row.columns() - parts, table);
    if (!damage.empty()) return damage;
    if (table.name == kClusters.name) {
      return DamageOf(StoredCluster{.name_space = columns["namespace"],
                                    .name = columns["name"],
                                    .document = columns["document"]});
    }
    if (table.name == kSweeps.name) {
      return DamageOf(StoredSweep{.name_space = columns["namespace"],
                                  .name = columns["name"],
                                  .document = columns["document"],
                                  .status = columns["status"]});
    }
    if (table.name == kRequests.name) return ExamineRequest(columns["uid"]);
    const std::string form = DamageOf(StoredJob{.name_space = columns["namespace"],
                                                .name = columns["name"],
                                                .document = columns["document"],
                                                .status = columns["status"]});
    if (form.empty()) NoteJob(row.Integer(0), columns["status"]);
    return form;
  }

  std::string ExamineRequest(const std::string& uid) {
    auto select = database_->Prepare("SELECT 1 FROM jobs WHERE uid = ?");
    if (!select) return select.error().message;
    select->Bind(base::ParseInteger(uid).value_or(0));
    const auto row = select->Step();
    return row && *row ? "" : StrCat("its job ", uid, " is not there");
  }

  void NoteJob(std::int64_t uid, const std::string& status_text) {
    const auto status = nlohmann::json::parse(status_text, nullptr, /*allow_exceptions=*/false);
    jobs_[uid] = status.contains("startTime");
  }

  // Settles a damaged row.
  Result<void> Settle(const DamagedRecord& record, const std::string& name) {
    const std::string subject = Shown(record.table->kind, record.row_id, name);
    if (!repair_) {
      Add(State::kDamaged, subject, record.what);
      return {};
    }
    const auto copy = KeepCopy(&*database_, record, folder_);
    if (!copy) return std::unexpected(copy.error());
    auto remove =
        database_->Prepare(StrCat("DELETE FROM ", record.table->name, " WHERE rowid = ?"));
    if (!remove) return std::unexpected(remove.error());
    remove->Bind(record.row_id);
    if (auto done = remove->Run(); !done) return done;
    std::string text = StrCat(record.what, ": moved to ", *copy);
    if (record.table->name == kJobs.name) {
      std::error_code error;
      const std::string log = fs::path(*copy).replace_extension(".log").string();
      fs::rename(directory_.log_path(record.row_id), log, error);
      if (!error) text += StrCat("; its log is ", log);
      fs::rename(TailFolderOf(directory_.log_path(record.row_id)), TailFolderOf(log), error);
    }
    Add(State::kRepaired, subject, text);
    return {};
  }

  Result<void> CheckFiles() {
    for (const auto& [uid, has_run] : jobs_) {
      std::error_code ignored;
      if (!has_run || fs::exists(directory_.log_path(uid), ignored)) continue;
      Add(State::kNote, Shown("job", uid, ""),
          StrCat("its log ", directory_.log_path(uid), " is not there"));
    }
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder_ + "/logs", ignored)) {
      const std::string name = entry.path().filename().string();
      const auto uid = base::ParseInteger(std::string_view(name).substr(0, name.find('.')));
      if (uid && jobs_.contains(*uid)) continue;
      if (uid && IsThere(*uid)) continue;
      Add(State::kNote, "logs", entry.path().string() + " belongs to no job; remove it by hand");
    }
    return {};
  }

  // A damaged job that was not repaired has a log too.
  bool IsThere(std::int64_t uid) {
    auto select = database_->Prepare("SELECT 1 FROM jobs WHERE uid = ?");
    if (!select) return false;
    select->Bind(uid);
    const auto row = select->Step();
    return row && *row;
  }

  const std::string folder_;
  const bool repair_;
  const DataDirectory& directory_;
  std::optional<Database> database_;
  std::optional<base::Error> too_new_;
  std::int64_t version_ = 0;
  std::map<std::int64_t, bool> jobs_;  // Intact ones: whether they ever ran.
  std::vector<StoreFinding> findings_;
};

}  // namespace

Result<std::vector<StoreFinding>> CheckStore(const StoreCheck& check) {
  const std::string path = check.folder + "/" + kFile;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    return Fail(ErrorCode::kNotFound,
                StrCat("there is no store ", path, "; name the data folder of an 'eidolon up'"));
  }
  const auto directory = DataDirectory::Open(check.folder);
  if (!directory) return std::unexpected(directory.error());
  return Checker(check, *directory).Run();
}

}  // namespace eidolon::controller::store
