// The folder in which a controller keeps everything: jobs.db, logs/, events/, timelines/,
// recordings/, lock, token, and the socket for commands. One controller at a time owns it; a second
// one is told who does. Jobs have secrets in their environments and logs, so folder and files are
// their owner's alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "services/base/error.h"

namespace eidolon::controller::store {

struct DiskUsage {
  std::uint64_t total_bytes = 0;
  std::map<std::int64_t, std::uint64_t> outputs;  // Bytes of what jobs have left, by their uid.
};

// Owns the lock, which the kernel frees when the process ends in whatever way.
class DataDirectory {
 public:
  // Creates the folder and its parents when missing. What an earlier version left open to others is
  // closed, with a line in the log; a folder that is not ours alone to use is refused.
  static base::Result<DataDirectory> Open(const std::string& path);
  DataDirectory(DataDirectory&& other) noexcept;
  DataDirectory& operator=(DataDirectory&&) = delete;
  ~DataDirectory();

  const std::string& path() const { return path_; }
  std::string database_path() const { return path_ + "/jobs.db"; }
  std::string token_path() const { return path_ + "/token"; }
  std::string socket_path() const { return path_ + "/eidolon.sock"; }
  std::string log_path(std::int64_t job_uid) const;
  // Folder for the event logs of a job; created on request.
  std::string events_path(std::int64_t job_uid) const;
  // The file of a job's timeline, once it has one; its folder is created on request.
  std::string timeline_path(std::int64_t job_uid) const;
  // The same of its recording.
  std::string recording_path(std::int64_t job_uid) const;
  // Removes what a job has left: log, event logs, timeline, recording.
  void RemoveOutputs(std::int64_t job_uid) const;
  // Returns what all of it takes of the disk. Looks at every file.
  DiskUsage MeasureUsage() const;

 private:
  DataDirectory(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}

  std::string path_;
  int lock_fd_ = -1;
};

}  // namespace eidolon::controller::store
