// The output of a job's command: appended by the controller while agents send lines, read by
// anybody who knows a byte offset. Of a line torn by a crash, readers get the text that was
// written, once the log is opened again; a line torn before its text begins is left out. The disk
// holds a bounded part of it, the first half and about the last half; offsets count what was left
// out between them too.
//
//   7.log         the head: bytes 0 to at most half of the bound
//   7.log.tail/N  segments of the tail; N is the offset of the first byte. The oldest goes first.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

// The writer of one job's files. Thread safe: whoever has lines waits for the disk, and for nobody
// else's. Readers may read at the same time.
class JobLog {
 public:
  // Goes on with the files that are there. They never hold more than `bytes_max` bytes, which are
  // at least job::kLogBytesMin.
  static base::Result<std::unique_ptr<JobLog>> Open(const std::string& path,
                                                    std::uint64_t bytes_max);
  JobLog(const JobLog&) = delete;
  JobLog& operator=(const JobLog&) = delete;
  ~JobLog();

  // Text with several lines becomes several entries; a line that no segment holds is cut. Lines
  // that cannot be written are counted; the first one that can be again follows one that says so.
  base::Result<void> Append(const LogEntry& entry);
  // The offset behind the last line.
  std::uint64_t size() const { return size_; }
  // Bytes of lines that were written and made room for later ones.
  std::uint64_t left_out();
  // Says in the file what is missing, if possible. Appends nothing any more. Answers all that was
  // lost.
  LostLines Close();

 private:
  JobLog(std::string path, std::uint64_t bytes_max)
      : path_(std::move(path)), bytes_max_(bytes_max) {}
  base::Result<void> OpenFiles();
  // Returns the room of the file that is written to.
  std::uint64_t Room() const;
  base::Result<void> BeginSegment();
  // Whole lines. Takes away from them what was written.
  base::Result<void> Write(std::string_view* lines);
  base::Result<void> WriteGap();

  const std::string path_;
  const std::uint64_t bytes_max_;
  std::mutex mutex_;  // Guards what follows.
  int fd_ = -1;       // Of the head or the last segment.
  std::uint64_t head_bytes_ = 0;
  std::deque<std::uint64_t> segments_;   // Their offsets.
  std::atomic<std::uint64_t> size_ = 0;  // Read without the lock.
  bool closed_ = false;
  std::uint64_t gap_ = 0;  // Lines lost since the last one that was written.
  LostLines lost_;
};

// The folder beside a log's file that has its tail.
std::string TailFolderOf(const std::string& path);

// Whole lines from `offset` on, at most `bytes_max` bytes of the file. A missing file is an empty
// log. Where lines were left out, one that says so takes their place.
base::Result<LogChunk> ReadLog(const std::string& path, std::uint64_t offset,
                               std::size_t bytes_max);

}  // namespace eidolon::controller::store
