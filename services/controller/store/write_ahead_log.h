// Finds damage in SQLite's write-ahead log. SQLite takes the first frame whose checksum does not
// match for the end of the log and drops the transactions behind it without an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"

namespace eidolon::controller::store {

struct LogDamage {
  std::string what;               // "the checksum of frame 7 does not match".
  std::int64_t frame = 0;         // The first damaged one, from 1. 0: the header of the log.
  std::int64_t frames = 0;        // Frames of this log from there on; SQLite ignores all of them.
  std::int64_t transactions = 0;  // Commits among them.
  // Only the last frame is damaged. A process killed while it writes that frame leaves the same, so
  // this need not be a transaction that was acknowledged.
  bool is_last = false;
};

// `log`: the bytes of a write-ahead log, any bytes at all. Frames of earlier rounds behind the end
// are not damage.
std::optional<LogDamage> FindLogDamage(std::string_view log);

struct CorrectedLog {
  std::string log;
  std::vector<std::int64_t> frames;  // The corrected ones. 0: the header of the log.
};

// Corrects frames of which one byte is wrong, or the salts: the checksum tells which byte, and what
// it was. For every fourth byte there are several answers; any is taken for a page that a later
// transaction writes again, none for another. Stops at a frame that it cannot correct.
CorrectedLog CorrectLog(std::string log);

struct KeptLog {
  std::vector<std::int64_t> corrected;  // As in CorrectedLog.
  std::optional<LogDamage> rest;        // What cannot be corrected.
  std::string copy;                     // Path of the copy of the log.
};

// Examines the log of a database that is not open. Copies a damaged one to FOLDER/damaged, unless a
// copy with its content is there, and then corrects it in its place if `correct`. Returns nothing
// for an intact, empty or absent log.
base::Result<std::optional<KeptLog>> KeepDamagedLog(const std::string& database_path,
                                                    const std::string& folder, bool correct);

// One sentence: file, frames, loss, copy.
std::string DescribeDamage(const KeptLog& kept, const std::string& database_path);

}  // namespace eidolon::controller::store
