// A damaged row may be the only trace of a job, so a write that replaces it first copies it. The
// copy is text and has every column (SELECT *), because its reader is a person who may have neither
// SQLite nor this version of the program. Only the parts that the write replaces are examined: a
// damaged document stays where it is while the status changes. A copy never overwrites an earlier
// one (O_EXCL), and it is on the disk (fsync) before the caller commits. If the copy fails, so does
// the write.
#include "services/controller/store/damaged_records.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "services/base/log.h"
#include "services/base/text.h"

namespace eidolon::controller::store {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

constexpr int kCopiesMax = 10'000;  // Of one record.

Result<void> WriteNew(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const bool full = errno == ENOSPC || errno == EDQUOT;
      return Fail(full ? ErrorCode::kResourceExhausted : ErrorCode::kUnavailable,
                  std::strerror(errno));
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fsync(fd) != 0) return Fail(ErrorCode::kUnavailable, std::strerror(errno));
  return {};
}

Result<std::string> WriteFile(const std::string& stem, const std::string& text) {
  for (int copy = 1; copy <= kCopiesMax; ++copy) {
    const std::string path = StrCat(stem, copy == 1 ? "" : StrCat("-", copy), ".txt");
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) {
      return Fail(ErrorCode::kUnavailable, StrCat("making ", path, ": ", std::strerror(errno)));
    }
    auto written = WriteNew(fd, text);
    close(fd);
    if (written) return path;
    unlink(path.c_str());
    return base::Wrap("writing " + path, written.error());
  }
  return Fail(ErrorCode::kUnavailable, StrCat("there are ", kCopiesMax, " files ", stem, "*.txt"));
}

}  // namespace

std::string TitleOf(const DamagedRecord& record) {
  return StrCat(record.table->kind, " ", record.row_id);
}

Result<std::string> KeepCopy(Database* database, const DamagedRecord& record,
                             const std::string& folder) {
  auto select = database->Prepare(StrCat("SELECT * FROM ", record.table->name, " WHERE rowid = ?"));
  if (!select) return std::unexpected(select.error());
  select->Bind(record.row_id);
  const auto row = select->Step();
  if (!row) return std::unexpected(row.error());
  if (!*row) return Fail(ErrorCode::kNotFound, TitleOf(record) + " is not there");
  std::string text = StrCat("Damaged record of an Eidolon store: ", TitleOf(record), ": ",
                            record.what, ".\nEach column follows, as it was stored.\n");
  for (int column = 0; column < select->columns(); ++column) {
    text += StrCat("\n--- ", select->Name(column), "\n", select->Text(column), "\n");
  }
  const std::string damaged = folder + "/damaged";
  if (mkdir(damaged.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return Fail(ErrorCode::kUnavailable, StrCat("making ", damaged, ": ", std::strerror(errno)));
  }
  return WriteFile(StrCat(damaged, "/", record.table->kind, "-", record.row_id), text);
}

Result<void> KeepDamaged(Database* database, const Table& table, std::span<const Part> parts,
                         std::int64_t row_id, const std::string& folder) {
  const Table looked_at = {table.name, table.kind, parts};
  std::string what;
  {
    auto select = database->Prepare(
        StrCat("SELECT rowid", DamageColumns(looked_at), " FROM ", table.name, " WHERE rowid = ?"));
    if (!select) return std::unexpected(select.error());
    select->Bind(row_id);
    const auto row = select->Step();
    if (!row) return std::unexpected(row.error());
    if (*row) what = ReadDamage(*select, 1, looked_at);
  }
  if (what.empty()) return {};
  const DamagedRecord record = {&table, row_id, what};
  const auto kept = KeepCopy(database, record, folder);
  if (!kept) return std::unexpected(kept.error());
  base::Log(base::Level::kError, "damaged_record_replaced",
            {{"record", TitleOf(record)}, {"damage", what}, {"copy", *kept}});
  return {};
}

}  // namespace eidolon::controller::store
