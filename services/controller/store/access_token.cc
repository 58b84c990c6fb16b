// Loading decides by the open descriptor and never looks at the path twice: between two looks
// another user could put a different file there. The same reasoning excludes links (O_NOFOLLOW) and
// FIFOs. A token that others may have read is replaced and not merely closed to them, because a
// reader may keep a copy. The new file gets its name by rename, so that a start that is killed
// leaves a complete token or none.
#include "services/controller/store/access_token.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "services/base/check.h"
#include "services/base/hex.h"
#include "services/base/text.h"

namespace eidolon::controller::store {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

constexpr std::size_t kSecretBytes = 32;

// An open file, closed at the end.
struct File {
  explicit File(int number) : fd(number) {}
  ~File() {
    if (fd >= 0) close(fd);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const int fd;
};

bool IsToken(const std::string& text) {
  return text.size() == 2 * kSecretBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Whether other users may have read what the file holds.
bool IsExposed(const struct stat& status) {
  return status.st_uid != geteuid() || (status.st_mode & 077) != 0;
}

Result<std::string> Read(const std::string& path, int fd) {
  char buffer[256];
  const ssize_t count = pread(fd, buffer, sizeof buffer, 0);
  std::string text(buffer, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  while (text.ends_with('\n')) text.pop_back();
  if (IsToken(text)) return text;
  return Fail(ErrorCode::kCorrupt, StrCat("the file ", path, " holds no token of ours; remove it, ",
                                          "and the next start makes a new one"));
}

Result<std::string> Make(const std::string& path) {
  const std::string token = MakeSecret();
  const std::string text = token + "\n";
  // Complete or absent.
  const std::string temporary = path + ".new";
  unlink(temporary.c_str());
  const File file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       S_IRUSR | S_IWUSR));
  if (file.fd < 0 ||
      write(file.fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      fsync(file.fd) != 0 || rename(temporary.c_str(), path.c_str()) != 0) {
    return Fail(ErrorCode::kInternal, StrCat("writing ", path, ": ", std::strerror(errno)));
  }
  return token;
}

}  // namespace

std::string MakeSecret() {
  std::string secret(kSecretBytes, '\0');
  CHECK(getrandom(secret.data(), secret.size(), 0) == static_cast<ssize_t>(secret.size()));
  return base::Hex(secret);
}

Result<AccessToken> LoadAccessToken(const std::string& path) {
  // Without O_NONBLOCK a FIFO in its place would make the start wait.
  const File file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.fd < 0 && errno != ENOENT) {
    return Fail(ErrorCode::kInternal, StrCat("opening ", path, ": ", std::strerror(errno)));
  }
  struct stat status = {};
  if (file.fd >= 0 && (fstat(file.fd, &status) != 0 || !S_ISREG(status.st_mode))) {
    return Fail(ErrorCode::kCorrupt,
                StrCat(path, " is not a regular file; remove it, and the next ",
                       "start makes a new token"));
  }
  const bool was_exposed = file.fd >= 0 && IsExposed(status);
  auto text = file.fd < 0 || was_exposed ? Make(path) : Read(path, file.fd);
  if (!text) return std::unexpected(text.error());
  return AccessToken{.text = std::move(*text), .was_exposed = was_exposed};
}

Result<AccessToken> RotateAccessToken(const std::string& path) {
  auto text = Make(path);
  if (!text) return std::unexpected(text.error());
  return AccessToken{.text = std::move(*text)};
}

}  // namespace eidolon::controller::store
