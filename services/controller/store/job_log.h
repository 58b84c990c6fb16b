// The output of a job's command as one file per job: appended by the controller while agents send
// lines, read by anybody who knows a byte offset. A line torn by a crash is left out.
#pragma once

#include <cstdint>
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

// The writer of one job's file. Not thread safe; readers may read at the same time.
class JobLog {
 public:
  // Lines beyond this many bytes are dropped, with a last line that says so.
  static constexpr std::uint64_t kBytesMax = 256u << 20;

  static base::Result<JobLog> Open(const std::string& path);
  JobLog(JobLog&& other) noexcept;
  JobLog& operator=(JobLog&&) = delete;
  ~JobLog();

  // Text with several lines becomes several entries.
  base::Result<void> Append(const LogEntry& entry);
  std::uint64_t size() const { return size_; }

 private:
  JobLog(int fd, std::uint64_t size) : fd_(fd), size_(size) {}

  int fd_ = -1;
  std::uint64_t size_ = 0;
  bool full_ = false;
};

// Whole lines from `offset` on, at most `bytes_max` bytes of the file. A missing file is an empty
// log.
base::Result<LogChunk> ReadLog(const std::string& path, std::uint64_t offset,
                               std::size_t bytes_max);

}  // namespace eidolon::controller::store
