// The beginning of an output shows the set-up and its end shows the failure, so the middle is what
// a bound may cost. An offset counts all bytes ever appended: a reader needs nothing but its last
// offset to go on, and sees a gap as a jump. A segment is named by the offset of its first byte, so
// the folder is the index, and readers need no lock and no memory of the writer. Removing a whole
// segment makes room without rewriting anything. Lines never continue in the next file. A reader
// whose file vanishes between finding and opening it reads an empty file, and goes on with the next
// segment.
#include "services/controller/store/job_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "services/base/text.h"
#include "services/controller/job/job.h"
#include "services/controller/job/status.h"

namespace eidolon::controller::store {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

// <server> TAB <1|2> TAB <virtual picoseconds> TAB <text> LF
constexpr std::size_t kFields = 4;
// Half of the bound is the tail's.
constexpr std::uint64_t kSegments = 8;
constexpr char kCutMark[] = " [eidolon: the line was cut]";

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

// The offsets of the tail's segments.
std::vector<std::uint64_t> FindSegments(const std::string& path) {
  std::vector<std::uint64_t> segments;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(TailFolderOf(path), ignored)) {
    const auto offset = base::ParseInteger(entry.path().filename().string());
    if (offset && *offset >= 0) segments.push_back(static_cast<std::uint64_t>(*offset));
  }
  std::ranges::sort(segments);
  return segments;
}

std::string SegmentPath(const std::string& path, std::uint64_t offset) {
  return StrCat(TailFolderOf(path), "/", offset);
}

Result<int> OpenToAppend(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  return Fail(ErrorCode::kInternal, StrCat("opening ", path, ": ", std::strerror(errno)));
}

std::uint64_t SizeOf(int fd) {
  struct stat status {};
  fstat(fd, &status);
  return static_cast<std::uint64_t>(status.st_size);
}

// The longest beginning of `lines` that consists of whole lines and has at most `bytes_max` bytes.
std::string_view WholeLines(std::string_view lines, std::uint64_t bytes_max) {
  if (lines.size() <= bytes_max) return lines;
  const std::size_t end = lines.substr(0, bytes_max).rfind('\n');
  return end == std::string_view::npos ? std::string_view() : lines.substr(0, end + 1);
}

}  // namespace

std::string TailFolderOf(const std::string& path) { return path + ".tail"; }

Result<std::unique_ptr<JobLog>> JobLog::Open(const std::string& path, std::uint64_t bytes_max) {
  std::unique_ptr<JobLog> log(new JobLog(path, std::max(bytes_max, job::kLogBytesMin)));
  if (auto opened = log->OpenFiles(); !opened) return std::unexpected(opened.error());
  return log;
}

Result<void> JobLog::OpenFiles() {
  const auto head = OpenToAppend(path_);
  if (!head) return std::unexpected(head.error());
  fd_ = *head;
  head_bytes_ = SizeOf(fd_);
  for (const std::uint64_t segment : FindSegments(path_)) segments_.push_back(segment);
  if (!segments_.empty()) {
    const auto last = OpenToAppend(SegmentPath(path_, segments_.back()));
    if (!last) return std::unexpected(last.error());
    close(std::exchange(fd_, *last));
  }
  const std::uint64_t bytes = SizeOf(fd_);
  size_ = (segments_.empty() ? 0 : segments_.back()) + bytes;
  char last = '\n';
  const bool torn =
      bytes > 0 && pread(fd_, &last, 1, static_cast<off_t>(bytes - 1)) == 1 && last != '\n';
  if (!torn) return {};
  if (auto ended = WriteAll(fd_, "\n"); !ended) {
    return base::Wrap("writing " + path_, ended.error());
  }
  ++size_;
  if (segments_.empty()) ++head_bytes_;
  return {};
}

JobLog::~JobLog() { close(fd_); }

std::uint64_t JobLog::Room() const {
  const bool in_head = segments_.empty();
  const std::uint64_t bound = in_head ? bytes_max_ / 2 : bytes_max_ / 2 / kSegments;
  const std::uint64_t used = size_ - (in_head ? 0 : segments_.back());
  return used < bound ? bound - used : 0;
}

Result<void> JobLog::BeginSegment() {
  const std::string folder = TailFolderOf(path_);
  if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return Fail(ErrorCode::kInternal, StrCat("making ", folder, ": ", std::strerror(errno)));
  }
  while (segments_.size() >= kSegments) {
    const std::string oldest = SegmentPath(path_, segments_.front());
    if (unlink(oldest.c_str()) != 0 && errno != ENOENT) {
      return Fail(ErrorCode::kInternal, StrCat("removing ", oldest, ": ", std::strerror(errno)));
    }
    segments_.pop_front();
  }
  const auto opened = OpenToAppend(SegmentPath(path_, size_));
  if (!opened) return std::unexpected(opened.error());
  close(std::exchange(fd_, *opened));
  segments_.push_back(size_);
  return {};
}

Result<void> JobLog::Write(std::string_view* lines) {
  while (!lines->empty()) {
    const std::string_view fitting = WholeLines(*lines, Room());
    if (fitting.empty()) {
      if (auto begun = BeginSegment(); !begun) return begun;
      continue;
    }
    if (auto done = WriteAll(fd_, fitting); !done) {
      // A line that was begun must not run into the next one. Making a file shorter needs no space.
      const std::uint64_t bytes = size_ - (segments_.empty() ? 0 : segments_.back());
      if (ftruncate(fd_, static_cast<off_t>(bytes)) != 0) (void)WriteAll(fd_, "\n");
      return done;
    }
    size_ += fitting.size();
    if (segments_.empty()) head_bytes_ = size_;
    lines->remove_prefix(fitting.size());
  }
  return {};
}

Result<void> JobLog::WriteGap() {
  if (gap_ == 0) return {};
  const std::string line =
      StrCat("0\t2\t0\t[eidolon: ", gap_, " line(s) were not stored: ", lost_.why, "]\n");
  std::string_view rest = line;
  if (auto done = Write(&rest); !done) return done;
  gap_ = 0;
  return {};
}

// A line must fit into one segment with its head, mark and end: Write begins segments until it
// does.
Result<void> JobLog::Append(const LogEntry& entry) {
  const std::lock_guard lock(mutex_);
  if (closed_) return {};
  const std::string head =
      StrCat(entry.server, '\t', entry.standard_error ? 2 : 1, '\t', entry.virtual_ps, '\t');
  const std::size_t text_max =
      bytes_max_ / 2 / kSegments - head.size() - std::string_view(kCutMark).size() - 1;
  std::string lines;
  for (const std::string_view text : base::Split(entry.text, '\n')) {
    lines += StrCat(head, text.substr(0, text_max), text.size() > text_max ? kCutMark : "", '\n');
  }
  std::string_view rest = lines;
  Result<void> done = WriteGap();
  if (done) done = Write(&rest);
  if (done) return done;
  const auto count = static_cast<std::uint64_t>(std::ranges::count(rest, '\n'));
  gap_ += count;
  lost_.count += count;
  lost_.why = done.error().message;
  return done;
}

std::uint64_t JobLog::left_out() {
  const std::lock_guard lock(mutex_);
  return segments_.empty() ? 0 : segments_.front() - head_bytes_;
}

LostLines JobLog::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  (void)WriteGap();  // What is lost is told by the answer as well.
  return lost_;
}

namespace {

// Reads at most `bytes_max` bytes of a file from `offset` on. A missing file is an empty one.
Result<std::string> ReadAt(const std::string& path, std::uint64_t offset, std::size_t bytes_max) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return std::string();
    return Fail(ErrorCode::kInternal, StrCat("opening ", path, ": ", std::strerror(errno)));
  }
  std::string bytes(bytes_max, '\0');
  const ssize_t count = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  close(fd);
  if (count < 0) {
    return Fail(ErrorCode::kInternal, StrCat("reading ", path, ": ", std::strerror(errno)));
  }
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

// Place of the bytes at an offset, if they are still kept.
struct Place {
  std::string path;
  std::uint64_t begin = 0;                           // Offset of the file's first byte.
  std::optional<std::uint64_t> next = std::nullopt;  // Of the next file's.
};

Place FindPlace(const std::string& path, std::uint64_t offset) {
  Place place = {.path = path};
  for (const std::uint64_t segment : FindSegments(path)) {
    if (segment > offset) {
      place.next = segment;
      break;
    }
    place.path = SegmentPath(path, segment);
    place.begin = segment;
  }
  return place;
}

LogEntry LeftOut(std::uint64_t bytes) {
  return {.server = 0,
          .standard_error = true,
          .virtual_ps = 0,
          .text = StrCat("[eidolon: ", job::FormatBytes(bytes),
                         " of output were left out here; limits.logBytes bounds what is kept]")};
}

}  // namespace

Result<LogChunk> ReadLog(const std::string& path, std::uint64_t offset, std::size_t bytes_max) {
  LogChunk chunk{.entries = {}, .next_offset = offset};
  Place place = FindPlace(path, offset);
  auto bytes = ReadAt(place.path, offset - place.begin, bytes_max);
  if (bytes && bytes->empty() && place.next) {
    // The end of one file: the next one follows it, or what was between them has been removed.
    if (*place.next > offset) chunk.entries.push_back(LeftOut(*place.next - offset));
    chunk.next_offset = *place.next;
    bytes = ReadAt(SegmentPath(path, *place.next), 0, bytes_max);
  }
  if (!bytes) return std::unexpected(bytes.error());
  const std::uint64_t begin = chunk.next_offset;
  std::string_view rest = *bytes;
  while (true) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;
    if (auto entry = ParseLine(rest.substr(0, end))) chunk.entries.push_back(std::move(*entry));
    rest.remove_prefix(end + 1);
    chunk.next_offset += end + 1;
  }
  // A line longer than the buffer: give it in one piece, cut.
  if (chunk.next_offset == begin && rest.size() == bytes_max) {
    if (auto entry = ParseLine(rest)) chunk.entries.push_back(std::move(*entry));
    chunk.next_offset += rest.size();
  }
  return chunk;
}

}  // namespace eidolon::controller::store
