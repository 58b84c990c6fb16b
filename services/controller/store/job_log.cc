#include "services/controller/store/job_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "services/base/text.h"

namespace eidolon::controller::store {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

// <server> TAB <1|2> TAB <virtual picoseconds> TAB <text> LF
constexpr std::size_t kFields = 4;

std::optional<LogEntry> ParseLine(std::string_view line) {
  std::string_view fields[kFields];
  for (std::size_t i = 0; i + 1 < kFields; ++i) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return std::nullopt;
    fields[i] = line.substr(0, tab);
    line.remove_prefix(tab + 1);
  }
  const auto server = base::ParseInteger(fields[0]);
  const auto virtual_ps = base::ParseInteger(fields[2]);
  if (!server || !virtual_ps || *server < 0 || *virtual_ps < 0) return std::nullopt;
  return LogEntry{.server = static_cast<std::uint32_t>(*server),
                  .standard_error = fields[1] == "2",
                  .virtual_ps = static_cast<std::uint64_t>(*virtual_ps),
                  .text = std::string(line)};
}

Result<void> WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return Fail(ErrorCode::kInternal, std::strerror(errno));
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<JobLog>> JobLog::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return Fail(ErrorCode::kInternal, StrCat("opening ", path, ": ", strerror(errno)));
  struct stat status {};
  fstat(fd, &status);
  std::unique_ptr<JobLog> log(new JobLog(fd, static_cast<std::uint64_t>(status.st_size)));
  char last = '\n';
  if (log->size_ > 0 && pread(fd, &last, 1, status.st_size - 1) == 1 && last != '\n') {
    if (auto ended = WriteAll(fd, "\n"); !ended)
      return base::Wrap("writing " + path, ended.error());
    ++log->size_;
  }
  return log;
}

JobLog::~JobLog() { close(fd_); }

Result<void> JobLog::Write(const std::string& lines) {
  if (auto done = WriteAll(fd_, lines); !done) {
    // A line that was begun must not run into the next one. Making a file shorter needs no space.
    if (ftruncate(fd_, static_cast<off_t>(size_.load())) != 0) (void)WriteAll(fd_, "\n");
    return done;
  }
  size_ += lines.size();
  return {};
}

Result<void> JobLog::WriteGap() {
  if (gap_ == 0) return {};
  const std::string line =
      StrCat("0\t2\t0\t[eidolon: ", gap_, " line(s) were not stored: ", lost_.why, "]\n");
  if (auto done = Write(line); !done) return done;
  gap_ = 0;
  return {};
}

Result<void> JobLog::Append(const LogEntry& entry) {
  const std::lock_guard lock(mutex_);
  if (full_ || closed_) return {};
  std::string lines;
  std::uint64_t count = 0;
  for (const std::string_view text : base::Split(entry.text, '\n')) {
    lines += StrCat(entry.server, '\t', entry.standard_error ? 2 : 1, '\t', entry.virtual_ps, '\t',
                    text, '\n');
    ++count;
  }
  if (size_ + lines.size() > kBytesMax) {
    full_ = true;
    lines = StrCat(entry.server, "\t2\t", entry.virtual_ps,
                   "\t[eidolon: the log is full, further lines are dropped]\n");
  }
  Result<void> done = WriteGap();
  if (done) done = Write(lines);
  if (done) return done;
  gap_ += count;
  lost_.count += count;
  lost_.why = done.error().message;
  return done;
}

LostLines JobLog::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  (void)WriteGap();  // What is lost is told by the answer as well.
  return lost_;
}

Result<LogChunk> ReadLog(const std::string& path, std::uint64_t offset, std::size_t bytes_max) {
  LogChunk chunk{.entries = {}, .next_offset = offset};
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return chunk;
    return Fail(ErrorCode::kInternal, StrCat("opening ", path, ": ", std::strerror(errno)));
  }
  std::string bytes(bytes_max, '\0');
  const ssize_t count = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  close(fd);
  if (count < 0) {
    return Fail(ErrorCode::kInternal, StrCat("reading ", path, ": ", std::strerror(errno)));
  }
  std::string_view rest(bytes.data(), static_cast<std::size_t>(count));
  while (true) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;
    if (auto entry = ParseLine(rest.substr(0, end))) chunk.entries.push_back(std::move(*entry));
    rest.remove_prefix(end + 1);
    chunk.next_offset += end + 1;
  }
  // A line longer than the buffer: give it in one piece, cut.
  if (chunk.next_offset == offset && rest.size() == bytes_max) {
    if (auto entry = ParseLine(rest)) chunk.entries.push_back(std::move(*entry));
    chunk.next_offset += rest.size();
  }
  return chunk;
}

}  // namespace eidolon::controller::store
