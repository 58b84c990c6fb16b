#include "services/cli/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "services/base/text.h"
#include "services/base/write_file.h"

namespace eidolon::cli {

base::Result<FolderLock> FolderLock::Take(const std::string& folder) {
  const std::string path = folder + "/lock";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return std::unexpected(base::CannotWrite(path, errno));
  FolderLock lock(file);
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) {
    std::fprintf(stderr, "eidolon: waits for another command that works in %s\n", folder.c_str());
  }
  while (flock(file, LOCK_EX) != 0) {
    if (errno != EINTR) return std::unexpected(base::CannotWrite(path, errno));
  }
  return lock;
}

FolderLock::~FolderLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace eidolon::cli
