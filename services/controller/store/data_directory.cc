#include "services/controller/store/data_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "services/base/text.h"

namespace eidolon::controller::store {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

Result<DataDirectory> DataDirectory::Open(const std::string& path) {
  std::error_code error;
  for (const char* folder : {"/logs", "/events"}) {
    std::filesystem::create_directories(path + folder, error);
    if (error) {
      return Fail(ErrorCode::kInternal,
                  StrCat("making the data folder ", path, ": ", error.message()));
    }
  }
  const std::string lock_path = path + "/lock";
  const int fd = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
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

void DataDirectory::RemoveJob(std::int64_t job_uid) const {
  std::error_code ignored;
  std::filesystem::remove(log_path(job_uid), ignored);
  std::filesystem::remove_all(events_path(job_uid), ignored);
}

}  // namespace eidolon::controller::store
