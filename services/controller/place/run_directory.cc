#include "services/controller/place/run_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
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

// Names the owning process inside a run directory.
constexpr char kOwnerFile[] = "/owner";

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
  std::error_code error;
  RunDirectory directory(StrCat(root, "/", MakeToken(4)));
  const std::string last = directory.server_path(servers - 1);
  if (last.size() > kRunPathBytesMax) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("the run directory ", last, " is longer than ", kRunPathBytesMax,
                       " bytes, too long for the sockets in it; choose a shorter --run-root"));
  }
  for (std::uint32_t server = 0; server < servers; ++server) {
    fs::create_directories(directory.server_path(server), error);
    if (error) {
      return Fail(ErrorCode::kInternal,
                  StrCat("making ", directory.server_path(server), ": ", error.message()));
    }
  }
  // Without it nobody would know that the folder may be removed.
  std::ofstream owner(directory.path() + kOwnerFile);
  if (!(owner << getpid() << std::flush)) {
    return Fail(ErrorCode::kInternal,
                StrCat("writing ", directory.path(), kOwnerFile, ": ", std::strerror(errno)));
  }
  return directory;
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::exchange(other.path_, "")), keep_(other.keep_) {}

RunDirectory& RunDirectory::operator=(RunDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(keep_, other.keep_);
  return *this;
}

RunDirectory::~RunDirectory() {
  if (path_.empty() || keep_) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string RunDirectory::server_path(std::uint32_t server) const {
  return StrCat(path_, "/s", server);
}

int CleanUpRuns(const std::string& root) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    pid_t owner = 0;
    std::ifstream(entry.path().string() + kOwnerFile) >> owner;
    if (owner <= 0 || kill(owner, 0) == 0 || errno == EPERM) continue;
    KillProcessesOfRun(entry.path().string());
    fs::remove_all(entry.path(), error);
    ++count;
  }
  return count;
}

}  // namespace eidolon::controller::place
