// A killed run leaves its folder, and a later run must know whether the folder is still in use.
// Process numbers do not answer that across containers or machines, so each owner holds a flock on
// the folder itself, which the kernel releases with the process. Between mkdtemp and flock another
// command may take a new folder for a left one; IsThere compares device and inode of name and
// descriptor to notice it, and another name is tried. The temporary folder is shared with other
// users: only directories of this user are touched, and links are not followed.
#include "services/cli/run_data.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "services/base/text.h"

namespace eidolon::cli {
namespace {

namespace fs = std::filesystem;
using base::Result;
using base::StrCat;

constexpr char kPrefix[] = "/eidolon-run-";
// Somebody else may take a new folder for one that was left, before it is locked.
constexpr int kAttempts = 10;

// The process whose folder it is, as versions before the lock wrote it; 0: no such file.
pid_t OwnerOf(const std::string& folder) {
  const std::string path = folder + "/owner";
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return 0;
  char text[16] = {};
  const bool is_told = read(file, text, sizeof(text) - 1) > 0;
  close(file);
  return is_told ? static_cast<pid_t>(std::strtol(text, nullptr, 10)) : 0;
}

// Other users make folders there too, with whatever in them.
bool IsOwn(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

// A folder that is open, and locked until it is closed.
struct Locked {
  int folder = -1;  // Below 0: it is not open.
  int why = 0;      // The error number, when it is not locked.
};

Locked Lock(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return {.why = errno};
  return {.folder = folder, .why = flock(folder, LOCK_EX | LOCK_NB) == 0 ? 0 : errno};
}

// Of runs that were killed before they had an agent to do it.
void RemoveLeftOver(const std::string& root) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root, ignored)) {
    const std::string path = entry.path().string();
    if (!entry.path().filename().string().starts_with(kPrefix + 1) || !IsOwn(path)) continue;
    const auto [folder, why] = Lock(path);
    const pid_t owner = why == 0 ? OwnerOf(path) : 0;
    const bool is_used = why != 0 || (owner > 0 && (kill(owner, 0) == 0 || errno != ESRCH));
    if (!is_used) fs::remove_all(path, ignored);
    if (folder >= 0) close(folder);
  }
}

// Returns whether the open folder is still the one of this name.
bool IsThere(const std::string& path, int folder) {
  struct stat named {
  }, opened{};
  return lstat(path.c_str(), &named) == 0 && fstat(folder, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

Result<std::string> TemporaryRoot() {
  std::error_code error;
  const fs::path root = fs::temp_directory_path(error);
  if (!error) return root.string();
  const char* wanted = std::getenv("TMPDIR");
  return base::Fail(base::ErrorCode::kFailedPrecondition,
                    StrCat("the folder for temporary files, '", wanted == nullptr ? "/tmp" : wanted,
                           "' (TMPDIR), cannot be used: ", error.message(),
                           "; set TMPDIR to a folder that exists, or name one with --data-dir"));
}

}  // namespace

Result<RunData> RunData::Make(const std::string& wanted) {
  RunData data;
  data.path_ = wanted;
  if (!wanted.empty()) return data;
  const auto root = TemporaryRoot();
  if (!root) return std::unexpected(root.error());
  RemoveLeftOver(*root);
  int why = EBUSY;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string path = *root + kPrefix + "XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      why = errno;
      break;
    }
    const Locked lock = Lock(path);
    // Where folders cannot be locked, nobody can remove this one for being unlocked.
    if (lock.folder >= 0 && lock.why != EWOULDBLOCK && IsThere(path, lock.folder)) {
      data.path_ = std::move(path);
      data.lock_ = lock.folder;
      return data;
    }
    if (lock.folder >= 0) close(lock.folder);
  }
  return base::Fail(base::ErrorCode::kInternal,
                    StrCat("cannot make a folder in ", *root, " and lock it: ", std::strerror(why),
                           "; name one with --data-dir, or set TMPDIR"));
}

RunData::RunData(RunData&& other) noexcept
    : path_(std::exchange(other.path_, "")), lock_(std::exchange(other.lock_, -1)) {}

RunData& RunData::operator=(RunData&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

RunData::~RunData() {
  if (lock_ < 0) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  close(lock_);
}

}  // namespace eidolon::cli
