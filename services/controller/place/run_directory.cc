// The default root is below /tmp where there is no XDG_RUNTIME_DIR, and there other users may make
// the folder first. PrepareRoot therefore opens it without following links and decides by the
// descriptor who owns it. Whether a folder is left behind is decided by a lock and not by a process
// number: the kernel frees the lock with the process, and no other process can inherit it by
// chance. A folder without an owner file is either being made or half removed; its content and its
// age (kMakingMax) tell them apart. The destructor removes the folder before it gives up the lock,
// so that no other controller cleans up at the same time.
#include "services/controller/place/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "services/base/text.h"
#include "services/controller/place/agent_processes.h"
#include "services/controller/place/token.h"

namespace eidolon::controller::place {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
namespace fs = std::filesystem;

// Locked by the process that made the run directory for as long as it lives. Its number would not
// do: another process may have it by now.
constexpr char kOwnerFile[] = "/owner";
// An empty folder without that file is being made, or its maker was killed while making it. One
// that has other contents is what an interrupted removal has left.
constexpr std::chrono::seconds kMakingMax(60);
// Agents that end may still write in a folder, and remove it as well.
constexpr int kRemovalsMax = 5;
constexpr std::chrono::milliseconds kRemovalPause(20);

// Random bytes in the name of a folder.
constexpr std::size_t kNameBytes = 4;

Result<void> CheckLength(const std::string& path) {
  if (path.size() <= kRunPathBytesMax) return {};
  return Fail(ErrorCode::kInvalidArgument,
              StrCat("the run directory ", path, " is longer than ", kRunPathBytesMax,
                     " bytes, too long for the sockets in it; choose a shorter --run-root"));
}

// The descriptor that holds the lock; an error number below 0.
int LockOwner(const std::string& path, int flags) {
  const int file = open((path + kOwnerFile).c_str(), flags | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return -errno;
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  const int why = errno;
  close(file);
  return -why;
}

// Versions before the lock wrote their number instead.
bool IsOwnerAlive(int file) {
  char text[16] = {};
  if (pread(file, text, sizeof(text) - 1, 0) <= 0) return false;
  const auto owner = static_cast<pid_t>(base::ParseInteger(text).value_or(0));
  return owner > 0 && (kill(owner, 0) == 0 || errno == EPERM);
}

bool IsLeftBehind(const std::string& path) {
  const int lock = LockOwner(path, 0);
  const bool is_free = lock >= 0 && !IsOwnerAlive(lock);
  if (lock >= 0) close(lock);
  if (lock != -ENOENT) return is_free;
  std::error_code gone;
  if (!fs::is_empty(path, gone) && !gone) return true;
  const auto changed = fs::last_write_time(path, gone);
  return !gone && fs::file_time_type::clock::now() - changed > kMakingMax;
}

bool Remove(const std::string& path) {
  std::error_code error;
  for (int i = 0; i < kRemovalsMax; ++i) {
    fs::remove_all(path, error);
    if (!fs::exists(path, error)) return true;
    std::this_thread::sleep_for(kRemovalPause);
  }
  return false;
}

}  // namespace

std::string RunDirectory::DefaultRoot() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0' && access(runtime, W_OK) == 0) {
    const std::string root = std::string(runtime) + "/eidolon";
    if (root.size() + 16 <= kRunPathBytesMax) return root;
  }
  return StrCat("/tmp/eidolon-", getuid());
}

Result<void> RunDirectory::PrepareRoot(const std::string& root) {
  std::error_code error;
  fs::create_directories(root, error);
  const int folder = open(root.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status = {};
  if (folder < 0 || fstat(folder, &status) != 0) {
    const int why = errno;
    if (folder >= 0) close(folder);
    return Fail(
        ErrorCode::kFailedPrecondition,
        StrCat("the folder for runs, ", root, ", cannot be used: ",
               why == ELOOP || why == ENOTDIR ? "it is a link or no folder" : std::strerror(why),
               "; remove it, or choose another --run-root"));
  }
  const bool own = status.st_uid == geteuid();
  const bool closed = own && ((status.st_mode & 077) == 0 || fchmod(folder, 0700) == 0);
  close(folder);
  if (closed) return {};
  return Fail(ErrorCode::kFailedPrecondition,
              StrCat("the folder for runs, ", root, ", belongs to user ", status.st_uid,
                     ", who could reach into jobs; choose another --run-root"));
}

Result<RunDirectory> RunDirectory::Make(const std::string& root, std::uint32_t servers) {
  if (auto ready = PrepareRoot(root); !ready) return std::unexpected(ready.error());
  RunDirectory directory(StrCat(root, "/", MakeToken(kNameBytes)));
  if (auto fits = CheckLength(directory.server_path(servers - 1)); !fits) {
    return std::unexpected(fits.error());
  }
  if (auto created = directory.Create(); !created) return std::unexpected(created.error());
  std::error_code error;
  for (std::uint32_t server = 0; server < servers; ++server) {
    fs::create_directories(directory.server_path(server), error);
    if (error) {
      return Fail(ErrorCode::kInternal,
                  StrCat("making ", directory.server_path(server), ": ", error.message()));
    }
  }
  return directory;
}

Result<RunDirectory> RunDirectory::MakeForServices(const std::string& root) {
  if (auto ready = PrepareRoot(root); !ready) return std::unexpected(ready.error());
  RunDirectory directory(StrCat(root, "/services-", MakeToken(kNameBytes)));
  if (auto fits = CheckLength(directory.path()); !fits) return std::unexpected(fits.error());
  if (auto created = directory.Create(); !created) return std::unexpected(created.error());
  return directory;
}

Result<void> RunDirectory::Create() {
  std::error_code error;
  fs::create_directories(path_, error);
  if (!error) fs::permissions(path_, fs::perms::owner_all, error);
  lock_ = error ? -error.value() : LockOwner(path_, O_CREAT);
  if (lock_ >= 0) return {};
  return Fail(ErrorCode::kInternal,
              StrCat("making ", path_, kOwnerFile, ": ", std::strerror(-std::exchange(lock_, -1))));
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::exchange(other.path_, "")),
      lock_(std::exchange(other.lock_, -1)),
      keep_(other.keep_) {}

RunDirectory& RunDirectory::operator=(RunDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  std::swap(keep_, other.keep_);
  return *this;
}

RunDirectory::~RunDirectory() {
  if (!path_.empty() && !keep_) Remove(path_);
  if (lock_ >= 0) close(lock_);
}

std::string RunDirectory::server_path(std::uint32_t server) const {
  return StrCat(path_, "/s", server);
}

int CleanUpRuns(const std::string& root) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    const std::string path = entry.path().string();
    if (!IsLeftBehind(path)) continue;
    KillProcessesOfRun(path);
    if (Remove(path)) ++count;
  }
  return count;
}

}  // namespace eidolon::controller::place
