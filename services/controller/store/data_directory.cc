// Ownership is a flock on the file `lock`. A file with a process number would need a guess after a
// crash, since the number may belong to another process by then; the kernel drops a flock whenever
// its owner ends. The number in the file serves the error message alone. A folder that is open to
// others is closed only if it is empty or holds a store of ours, so that a wrong --data-dir such as
// /tmp is refused and not changed. Disk usage counts allocated blocks (st_blocks, 512 bytes each),
// not file sizes: reserved space counts, holes do not.
#include "services/controller/store/data_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/controller/store/job_log.h"

namespace eidolon::controller::store {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

namespace {

namespace fs = std::filesystem;

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
constexpr fs::perms kOthersPerms = fs::perms::group_all | fs::perms::others_all;

std::unexpected<base::Error> CannotMake(const std::string& path, const std::string& why) {
  return Fail(ErrorCode::kInternal, StrCat("making the data folder ", path, ": ", why));
}

// The folder itself: ours, and nobody else's. Whoever names /tmp by mistake finds it unchanged.
Result<void> MakePrivate(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return CannotMake(path, std::strerror(errno));
  if (status.st_uid != geteuid()) {
    return Fail(ErrorCode::kFailedPrecondition,
                StrCat("the data folder ", path, " belongs to user ", status.st_uid,
                       "; choose one of your own with --data-dir"));
  }
  if ((status.st_mode & kOthers) == 0) return {};
  std::error_code error;
  const bool ours = fs::exists(path + "/jobs.db", error) || fs::is_empty(path, error);
  if (!ours || (status.st_mode & S_ISVTX) != 0) {
    return Fail(ErrorCode::kFailedPrecondition,
                StrCat("the data folder ", path, " is open to other users and holds other files; ",
                       "choose a folder of its own with --data-dir, or run chmod 700 on it"));
  }
  if (chmod(path.c_str(), S_IRWXU) != 0) return CannotMake(path, std::strerror(errno));
  base::Log(base::Level::kInfo, "data_folder_closed_to_others", {{"folder", path}});
  return {};
}

// Files of a version that left them open to others. Not the token: who loads it sees by its mode
// that it is known.
void CloseFiles(const std::string& path, const std::string& token_path) {
  std::error_code error;
  int count = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path, error)) {
    const fs::file_status status = entry.symlink_status(error);
    if (entry.path() == token_path) continue;
    if (fs::is_symlink(status) || (status.permissions() & kOthersPerms) == fs::perms::none)
      continue;
    fs::permissions(entry.path(), kOthersPerms, fs::perm_options::remove, error);
    ++count;
  }
  if (count == 0) return;
  base::Log(base::Level::kInfo, "data_files_closed_to_others",
            {{"folder", path}, {"count", StrCat(count)}});
}

// The job that a file belongs to, by its path below the data folder: logs/7.log.tail/1048576.
std::optional<std::int64_t> UidOfOutput(const fs::path& below) {
  auto part = below.begin();
  const std::string folder = part->string();
  if (folder != "logs" && folder != "events" && folder != "timelines" && folder != "recordings") {
    return std::nullopt;
  }
  if (++part == below.end()) return std::nullopt;
  const std::string name = part->string();
  return base::ParseInteger(std::string_view(name).substr(0, name.find('.')));
}

}  // namespace

Result<DataDirectory> DataDirectory::Open(const std::string& path) {
  std::error_code error;
  const bool made = fs::create_directories(path, error);
  if (error) return CannotMake(path, error.message());
  if (made && chmod(path.c_str(), S_IRWXU) != 0) return CannotMake(path, std::strerror(errno));
  if (auto closed = MakePrivate(path); !closed) return std::unexpected(closed.error());
  for (const char* folder : {"/logs", "/events"}) {
    fs::create_directories(path + folder, error);
    if (error) return CannotMake(path, error.message());
  }
  const std::string lock_path = path + "/lock";
  const int fd = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return Fail(ErrorCode::kInternal, StrCat("opening ", lock_path, ": ", std::strerror(errno)));
  }
  DataDirectory directory(path, fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    char owner[32] = "unknown";
    const ssize_t count = pread(fd, owner, sizeof owner - 1, 0);
    if (count > 0) owner[count] = '\0';
    return Fail(ErrorCode::kFailedPrecondition,
                StrCat("the data folder ", path, " is in use by process ", owner,
                       "; stop it or choose another --data-dir"));
  }
  const std::string own = std::to_string(getpid());
  if (ftruncate(fd, 0) != 0 || pwrite(fd, own.data(), own.size(), 0) < 0) {
    return Fail(ErrorCode::kInternal, StrCat("writing ", lock_path, ": ", std::strerror(errno)));
  }
  CloseFiles(path, directory.token_path());
  return directory;
}

DataDirectory::DataDirectory(DataDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_fd_(std::exchange(other.lock_fd_, -1)) {}

DataDirectory::~DataDirectory() {
  if (lock_fd_ >= 0) close(lock_fd_);
}

std::string DataDirectory::log_path(std::int64_t job_uid) const {
  return StrCat(path_, "/logs/", job_uid, ".log");
}

std::string DataDirectory::events_path(std::int64_t job_uid) const {
  return StrCat(path_, "/events/", job_uid);
}

std::string DataDirectory::timeline_path(std::int64_t job_uid) const {
  return StrCat(path_, "/timelines/", job_uid, ".pftrace");
}

std::string DataDirectory::recording_path(std::int64_t job_uid) const {
  return StrCat(path_, "/recordings/", job_uid, ".eidrec");
}

void DataDirectory::RemoveOutputs(std::int64_t job_uid) const {
  std::error_code ignored;
  fs::remove(log_path(job_uid), ignored);
  fs::remove_all(TailFolderOf(log_path(job_uid)), ignored);
  fs::remove_all(events_path(job_uid), ignored);
  fs::remove(timeline_path(job_uid), ignored);
  fs::remove(recording_path(job_uid), ignored);
}

DiskUsage DataDirectory::MeasureUsage() const {
  constexpr std::uint64_t kBlockBytes = 512;  // Of st_blocks, whatever the file system has.
  DiskUsage usage;
  std::error_code ignored;
  for (auto entry = fs::recursive_directory_iterator(path_, ignored);
       entry != fs::recursive_directory_iterator(); entry.increment(ignored)) {
    struct stat status = {};
    if (lstat(entry->path().c_str(), &status) != 0) continue;  // Removed meanwhile.
    const std::uint64_t bytes = static_cast<std::uint64_t>(status.st_blocks) * kBlockBytes;
    usage.total_bytes += bytes;
    const fs::path below = entry->path().lexically_relative(path_);
    if (const auto uid = UidOfOutput(below)) usage.outputs[*uid] += bytes;
  }
  return usage;
}

}  // namespace eidolon::controller::store
