// A frame's checksum is a pair of 32-bit sums that continue those of the frame before, by first +=
// word + second; second += word' + first. Both are linear modulo 2^32, so a changed word shifts the
// pair by the change times factors that depend on its place alone. The correction therefore
// compares the difference of stored and computed sums with 256 values of each byte, without
// computing a checksum anew for any of them. The salts are outside of the checksum, so they are
// compared with the header's and copied from it. Where several bytes explain the sums, the next
// frame decides which of them it was.
#include "services/controller/store/write_ahead_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "services/base/regular_file.h"
#include "services/base/text.h"

namespace eidolon::controller::store {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
namespace fs = std::filesystem;

// https://sqlite.org/fileformat2.html#the_write_ahead_log
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::uint32_t kMagic = 0x377f0682;  // Its lowest bit: checksums of big-endian words.
constexpr std::uint32_t kPageBytesMin = 512;
constexpr std::uint32_t kPageBytesMax = 65536;
constexpr std::uint32_t kPageBytesDefault = 4096;
constexpr int kLogCopiesMax = 10'000;
constexpr std::size_t kCorrectionsMax = 100;  // A disk that damages more cannot be relied on.

std::uint32_t BigEndian(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    word = word << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return word;
}

struct Sums {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  bool operator==(const Sums&) const = default;
};

Sums SumsAt(std::string_view bytes, std::size_t at) {
  return {BigEndian(bytes, at), BigEndian(bytes, at + 4)};
}

// Requires: bytes.size() is a multiple of 8.
Sums Continue(Sums sums, std::string_view bytes, bool is_big_endian) {
  const auto word = [&](std::size_t at) {
    const std::uint32_t value = BigEndian(bytes, at);
    return is_big_endian ? value : std::byteswap(value);
  };
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    sums.first += word(at) + sums.second;
    sums.second += word(at + 4) + sums.first;
  }
  return sums;
}

bool IsPageSize(std::uint32_t bytes) {
  return std::has_single_bit(bytes) && bytes >= kPageBytesMin && bytes <= kPageBytesMax;
}

// A view of a log's bytes. Frames count from 0; only those that are there as a whole do.
class LogReader {
 public:
  // Requires: at least the header is there.
  explicit LogReader(std::string_view log) : log_(log) {
    const std::uint32_t page_bytes = BigEndian(log, 8);
    frame_bytes_ = kFrameHeaderBytes + (IsPageSize(page_bytes) ? page_bytes : kPageBytesDefault);
    is_big_endian_ = (BigEndian(log, 0) & 1) != 0;
  }

  std::size_t frames() const { return (log_.size() - kHeaderBytes) / frame_bytes_; }
  bool HeaderIsIntact() const {
    return (BigEndian(log_, 0) & ~1u) == kMagic && IsPageSize(BigEndian(log_, 8)) &&
           HeaderSums() == Continue({}, log_.substr(0, 24), is_big_endian_);
  }
  Sums HeaderSums() const { return SumsAt(log_, 24); }
  std::string_view HeaderSalts() const { return log_.substr(16, 8); }

  std::size_t Offset(std::size_t frame) const { return kHeaderBytes + frame * frame_bytes_; }
  std::string_view Frame(std::size_t frame) const {
    return log_.substr(Offset(frame), frame_bytes_);
  }
  std::string_view Salts(std::size_t frame) const { return Frame(frame).substr(8, 8); }
  bool Commits(std::size_t frame) const { return BigEndian(Frame(frame), 4) != 0; }
  Sums StoredSums(std::size_t frame) const { return SumsAt(Frame(frame), 16); }
  bool IsOfThisRound(std::size_t frame) const {
    return frame < frames() && Salts(frame) == HeaderSalts();
  }
  bool is_big_endian() const { return is_big_endian_; }
  // Returns the sums of the frame, behind one with the sums `before`.
  Sums ComputedSums(std::size_t frame, Sums before) const {
    const Sums sums = Continue(before, Frame(frame).substr(0, 8), is_big_endian_);
    return Continue(sums, Frame(frame).substr(kFrameHeaderBytes), is_big_endian_);
  }

 private:
  std::string_view log_;
  std::size_t frame_bytes_;
  bool is_big_endian_;
};

// Counts what has these salts from `frame` on.
LogDamage CountLoss(const LogReader& log, std::size_t frame, std::string_view salts) {
  LogDamage damage;
  for (std::size_t i = frame; i < log.frames(); ++i) {
    if (log.Salts(i) != salts) continue;
    ++damage.frames;
    if (log.Commits(i)) ++damage.transactions;
  }
  return damage;
}

std::string Counted(std::int64_t count, std::string_view noun) {
  return StrCat(count, " ", noun, count == 1 ? "" : "s");
}

// One byte of a log, and what it should be.
struct Change {
  std::size_t at = 0;
  char value = 0;
};

// Effect of a change of a word on the sums behind it.
struct Effect {
  std::uint32_t first = 0;
  std::uint32_t second = 0;

  // Returns the effect behind one more pair of words.
  Effect Next() const { return {first + second, first + 2 * second}; }
};

// Finds a byte of the word at `at` whose change adds `wanted` to the sums.
std::optional<Change> FindByte(std::string_view bytes, std::size_t at, Effect effect, Sums wanted,
                               bool is_big_endian) {
  for (std::size_t i = 0; i < 4; ++i) {
    const auto old = static_cast<unsigned char>(bytes[at + i]);
    const std::size_t shift = 8 * (is_big_endian ? 3 - i : i);
    for (std::uint32_t value = 0; value < 256; ++value) {
      const std::uint32_t added = (value - old) << shift;
      if (value == old || effect.first * added != wanted.first) continue;
      if (effect.second * added == wanted.second) return Change{at + i, static_cast<char>(value)};
    }
  }
  return std::nullopt;
}

// Changes of one byte of a frame that make its checksum match, by the linearity of the sums. For a
// highest byte of a word there are several: effects on it repeat every 384 words.
class FrameCorrector {
 public:
  FrameCorrector(const LogReader& log, std::size_t frame, Sums before)
      : log_(log), frame_(frame), computed_(log.ComputedSums(frame, before)) {}

  // The one that also agrees with the next frame, if there is one.
  std::optional<Change> Find() {
    FindInContent();
    FindInChecksum();
    if (found_.size() > 1) {
      std::erase_if(found_, [&](const Found& found) {
        return !log_.IsOfThisRound(frame_ + 1) ||
               log_.ComputedSums(frame_ + 1, found.sums) != log_.StoredSums(frame_ + 1);
      });
    }
    if (found_.empty() || (found_.size() > 1 && !AnyWillDo())) return std::nullopt;
    return Change{log_.Offset(frame_) + found_[0].change.at, found_[0].change.value};
  }

 private:
  struct Found {
    Change change;
    Sums sums;  // Of the frame, once it is changed.
  };

  // Returns whether a later transaction, which is intact, writes the page again. Of this frame only
  // the number of the page then matters.
  bool AnyWillDo() const {
    if (std::ranges::any_of(found_, [](const Found& found) { return found.change.at < 4; })) {
      return false;
    }
    Sums sums = found_[0].sums;
    bool is_written_again = false;
    for (std::size_t i = frame_ + 1; log_.IsOfThisRound(i); ++i) {
      sums = log_.ComputedSums(i, sums);
      if (sums != log_.StoredSums(i)) return false;
      if (log_.Frame(i).substr(0, 4) == log_.Frame(frame_).substr(0, 4)) is_written_again = true;
      if (is_written_again && log_.Commits(i)) return true;
    }
    return false;
  }

  void FindInContent() {
    const std::string_view bytes = log_.Frame(frame_);
    const Sums stored = log_.StoredSums(frame_);
    const Sums wanted = {stored.first - computed_.first, stored.second - computed_.second};
    Effect even = {1, 1}, odd = {0, 1};
    // From the last pair of words to the first; the page follows the first eight bytes.
    for (std::size_t at = bytes.size() - 8;; at = at == kFrameHeaderBytes ? 0 : at - 8) {
      for (const auto& [word, effect] : {std::pair(at, even), std::pair(at + 4, odd)}) {
        const auto change = FindByte(bytes, word, effect, wanted, log_.is_big_endian());
        if (change) found_.push_back({*change, stored});
      }
      if (at == 0) return;
      even = even.Next();
      odd = odd.Next();
    }
  }

  void FindInChecksum() {
    const std::string_view bytes = log_.Frame(frame_);
    std::vector<Change> changes;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::uint32_t word = i < 4 ? computed_.first : computed_.second;
      const auto byte = static_cast<char>(word >> (8 * (3 - i % 4)));
      if (bytes[16 + i] != byte) changes.push_back({16 + i, byte});
    }
    if (changes.size() == 1) found_.push_back({changes[0], computed_});
  }

  const LogReader& log_;
  const std::size_t frame_;
  const Sums computed_;
  std::vector<Found> found_;
};

// Changes one byte so that the header's checksum matches and the first frame follows from it.
bool CorrectHeader(std::string* log) {
  for (std::size_t at = 0; at < kHeaderBytes; ++at) {
    const char old = (*log)[at];
    for (int value = 0; value < 256; ++value) {
      (*log)[at] = static_cast<char>(value);
      const LogReader reader(*log);
      if (!reader.HeaderIsIntact() || !reader.IsOfThisRound(0)) continue;
      if (reader.ComputedSums(0, reader.HeaderSums()) == reader.StoredSums(0)) return true;
    }
    (*log)[at] = old;
  }
  return false;
}

bool CorrectFrame(std::string* log, std::size_t frame) {
  const LogReader reader(*log);
  const Sums before = frame == 0 ? reader.HeaderSums() : reader.StoredSums(frame - 1);
  if (!reader.IsOfThisRound(frame)) {
    if (reader.ComputedSums(frame, before) != reader.StoredSums(frame)) return false;
    log->replace(reader.Offset(frame) + 8, 8, std::string(reader.HeaderSalts()));
    return true;
  }
  const auto change = FrameCorrector(reader, frame, before).Find();
  if (change) (*log)[change->at] = change->value;
  return change.has_value();
}

Result<void> WriteCopy(const std::string& path, std::string_view bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    return Fail(ErrorCode::kUnavailable, StrCat("making ", path, ": ", std::strerror(errno)));
  }
  int failed = 0;
  while (!bytes.empty() && failed == 0) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) failed = errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (failed == 0 && fsync(fd) != 0) failed = errno;
  close(fd);
  if (failed == 0) return {};
  unlink(path.c_str());
  const bool is_full = failed == ENOSPC || failed == EDQUOT;
  return Fail(is_full ? ErrorCode::kResourceExhausted : ErrorCode::kUnavailable,
              StrCat("writing ", path, ": ", std::strerror(failed)));
}

// Returns the path of a file in FOLDER/damaged with these bytes.
Result<std::string> KeepLog(const std::string& folder, std::string_view bytes) {
  const std::string damaged = folder + "/damaged";
  if (mkdir(damaged.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return Fail(ErrorCode::kUnavailable, StrCat("making ", damaged, ": ", std::strerror(errno)));
  }
  for (int copy = 1; copy <= kLogCopiesMax; ++copy) {
    const std::string path =
        StrCat(damaged, "/write-ahead-log", copy == 1 ? "" : StrCat("-", copy));
    std::error_code ignored;
    if (fs::exists(path, ignored)) {
      const auto content = base::ReadRegularFile(path);
      if (content && *content == bytes) return path;
      continue;
    }
    if (auto written = WriteCopy(path, bytes); !written) return std::unexpected(written.error());
    return path;
  }
  return Fail(ErrorCode::kUnavailable, StrCat("there are ", kLogCopiesMax, " copies of logs in ",
                                              damaged, "; remove those that nobody needs"));
}

// Writes the bytes that differ. Each of them may be written alone, so a crash meanwhile is
// harmless.
Result<void> WriteChanges(const std::string& path, std::string_view from, std::string_view to) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  bool is_good = fd >= 0;
  for (std::size_t at = 0; is_good && at < to.size(); ++at) {
    if (from[at] != to[at]) is_good = pwrite(fd, &to[at], 1, static_cast<off_t>(at)) == 1;
  }
  is_good = is_good && fsync(fd) == 0;
  const int failed = errno;
  if (fd >= 0) close(fd);
  if (is_good) return {};
  return Fail(ErrorCode::kUnavailable, StrCat("correcting ", path, ": ", std::strerror(failed)));
}

}  // namespace

std::optional<LogDamage> FindLogDamage(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  const LogReader log(bytes);
  if (log.frames() == 0) return std::nullopt;
  if (!log.HeaderIsIntact()) {
    LogDamage damage = CountLoss(log, 0, log.Salts(0));
    damage.what = "its header does not match its checksum";
    return damage;
  }
  Sums sums = log.HeaderSums();
  std::size_t end = 0;
  bool has_sums = true, has_salts = true;
  for (; end < log.frames(); ++end) {
    const Sums computed = log.ComputedSums(end, sums);
    has_sums = computed == log.StoredSums(end);
    has_salts = log.Salts(end) == log.HeaderSalts();
    if (!has_sums || !has_salts) break;
    sums = computed;
  }
  if (end == log.frames()) return std::nullopt;
  LogDamage damage = CountLoss(log, end, log.HeaderSalts());
  // Not of this log, and neither is any frame behind it: the end.
  if (damage.frames == 0 && !has_sums) return std::nullopt;
  damage.frame = static_cast<std::int64_t>(end) + 1;
  if (!has_salts) {  // Of this log all the same.
    ++damage.frames;
    if (log.Commits(end)) ++damage.transactions;
  }
  damage.is_last = damage.frames == 1 && has_salts;
  damage.what = StrCat(has_sums ? "the salts of frame " : "the checksum of frame ", damage.frame,
                       has_sums ? " do not match" : " does not match");
  return damage;
}

CorrectedLog CorrectLog(std::string log) {
  CorrectedLog corrected = {.log = std::move(log), .frames = {}};
  while (const auto damage = FindLogDamage(corrected.log)) {
    const bool is_done =
        damage->frame == 0
            ? CorrectHeader(&corrected.log)
            : CorrectFrame(&corrected.log, static_cast<std::size_t>(damage->frame) - 1);
    if (!is_done || corrected.frames.size() == kCorrectionsMax) break;
    corrected.frames.push_back(damage->frame);
  }
  return corrected;
}

Result<std::optional<KeptLog>> KeepDamagedLog(const std::string& database_path,
                                              const std::string& folder, bool correct) {
  const std::string path = database_path + "-wal";
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  const auto bytes = base::ReadRegularFile(path);
  if (!bytes) return std::unexpected(bytes.error());
  if (!FindLogDamage(*bytes)) return std::nullopt;
  auto copy = KeepLog(folder, *bytes);
  if (!copy) {
    return base::Wrap(StrCat("keeping a copy of ", path, ", which is damaged"), copy.error());
  }
  CorrectedLog corrected = CorrectLog(*bytes);
  if (correct) {
    if (auto written = WriteChanges(path, *bytes, corrected.log); !written) {
      return std::unexpected(written.error());
    }
  }
  return KeptLog{.corrected = std::move(corrected.frames),
                 .rest = FindLogDamage(corrected.log),
                 .copy = std::move(*copy)};
}

std::string DescribeDamage(const KeptLog& kept, const std::string& database_path) {
  std::string text = StrCat("the write-ahead log ", database_path, "-wal ");
  if (!kept.corrected.empty()) {
    std::string places;
    for (const std::int64_t frame : kept.corrected) {
      places += StrCat(places.empty() ? "" : ", ", frame == 0 ? "header" : StrCat("frame ", frame));
    }
    text += StrCat("is damaged: ", places,
                   "; the checksums tell what was there, so that this loses nothing; ");
  }
  if (kept.rest && kept.rest->is_last) {
    text += StrCat(
        kept.corrected.empty() ? "" : "it ",
        "ends in a transaction that is incomplete: ", kept.rest->what,
        "; either its writer was killed before it was acknowledged, or damage has undone it; ");
  } else if (kept.rest) {
    text += StrCat(kept.corrected.empty() ? "is damaged: " : "", kept.rest->what, "; ",
                   Counted(kept.rest->frames, "frame"), " from there on, with ",
                   Counted(kept.rest->transactions, "transaction"),
                   " that may be lost, cannot be used; ");
  }
  return StrCat(text, "a copy of the log is ", kept.copy);
}

}  // namespace eidolon::controller::store
