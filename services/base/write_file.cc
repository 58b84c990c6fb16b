#include "services/base/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace eidolon::base {

Error CannotWrite(const std::string& path, int system_error) {
  const bool full = system_error == ENOSPC || system_error == EDQUOT;
  return {full ? ErrorCode::kResourceExhausted : ErrorCode::kUnavailable,
          "cannot write '" + path + "': " + std::strerror(system_error)};
}

Result<void> WriteFile(const std::string& path, std::string_view text) {
  constexpr mode_t kMode = 0666;  // Less what the user's mask takes away.
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (file < 0) return std::unexpected(CannotWrite(path, errno));
  int failure = 0;
  while (failure == 0 && !text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      failure = errno;
    }
  }
  struct stat status {};
  const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  // Some file systems say here what did not arrive.
  if (close(file) != 0 && failure == 0) failure = errno;
  if (failure == 0) return {};
  if (regular) unlink(path.c_str());
  return std::unexpected(CannotWrite(path, failure));
}

}  // namespace eidolon::base
