// The output of a job's command as one file per job: appended by the controller while agents send
// lines, read by anybody who knows a byte offset. A line torn by a crash is left out.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"

namespace eidolon::controller::store {

struct LogEntry {
  std::uint32_t server = 0;
  bool standard_error = false;
  std::uint64_t virtual_ps = 0;
  std::string text;  // One line, without its end.
};

struct LogChunk {
  std::vector<LogEntry> entries;
  std::uint64_t next_offset = 0;
};

// Lines that could not be written.
struct LostLines {
  std::uint64_t count = 0;
  std::string why;  // Of the last one.
};

// The writer of one job's file. Thread safe: whoever has lines waits for the disk, and for nobody
// else's. Readers may read at the same time.
class JobLog {
 public:
  // Lines beyond this many bytes are dropped, with a last line that says so.
  static constexpr std::uint64_t kBytesMax = 256u << 20;

  static base::Result<std::unique_ptr<JobLog>> Open(const std::string& path);
  JobLog(const JobLog&) = delete;
  JobLog& operator=(const JobLog&) = delete;
  ~JobLog();

  // Text with several lines becomes several entries. Lines that cannot be written are counted; the
  // first one that can be again follows one that says so.
  base::Result<void> Append(const LogEntry& entry);
  // Whole lines of the file, in bytes.
  std::uint64_t size() const { return size_; }
  // Says in the file what is missing, if possible. Appends nothing any more. Answers all that was
  // lost.
  LostLines Close();

 private:
  JobLog(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  base::Result<void> Write(const std::string& lines);
  base::Result<void> WriteGap();

  std::mutex mutex_;  // Guards what follows.
  int fd_ = -1;
  std::atomic<std::uint64_t> size_ = 0;  // Read without the lock.
  bool full_ = false;
  bool closed_ = false;
  std::uint64_t gap_ = 0;  // Lines lost since the last one that was written.
  LostLines lost_;
};

// Whole lines from `offset` on, at most `bytes_max` bytes of the file. A missing file is an empty
// log.
base::Result<LogChunk> ReadLog(const std::string& path, std::uint64_t offset,
                               std::size_t bytes_max);

}  // namespace eidolon::controller::store
