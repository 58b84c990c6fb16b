#include "services/runtime/unix_address.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "services/base/text.h"

namespace eidolon::runtime {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

constexpr std::string_view kScheme = "unix:";
constexpr std::size_t kPathBytesMax = sizeof(sockaddr_un::sun_path) - 1;
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

bool IsServed(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool served = probe >= 0 && connect(probe, reinterpret_cast<const sockaddr*>(&address),
                                            sizeof address) == 0;
  if (probe >= 0) close(probe);
  return served;
}

}  // namespace

std::optional<std::string> SocketPathOf(std::string_view address) {
  if (!address.starts_with(kScheme)) return std::nullopt;
  return std::string(address.substr(kScheme.size()));
}

Result<void> CheckSocketPath(const std::string& path) {
  if (path.empty() || path.size() > kPathBytesMax) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("the path of the Unix socket '", path, "' has ", path.size(),
                       " bytes; it must have 1 to ", kPathBytesMax));
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  struct stat status = {};
  if (stat(folder.c_str(), &status) != 0) {
    return Fail(ErrorCode::kFailedPrecondition,
                StrCat("the folder of the Unix socket ", path, ": ", std::strerror(errno)));
  }
  if (status.st_uid != geteuid() || (status.st_mode & kOthers) != 0) {
    return Fail(ErrorCode::kFailedPrecondition,
                StrCat("the folder of the Unix socket ", path,
                       " belongs to another user or is open to others; use one of mode 0700"));
  }
  if (!IsServed(path)) return {};
  return Fail(ErrorCode::kUnavailable, StrCat("another server listens on ", path));
}

Result<void> CloseSocketToOthers(const std::string& path) {
  if (chmod(path.c_str(), S_IRUSR | S_IWUSR) == 0) return {};
  return Fail(ErrorCode::kInternal,
              StrCat("closing the socket ", path, " to other users: ", std::strerror(errno)));
}

}  // namespace eidolon::runtime
