// A recording on disk: what was run, and what each rank asked of its GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/contract/recording/block.h"

namespace eidolon::recording {

// A rank of an opened recording.
struct RecordedRank {
  RankHeader header;
  std::span<const std::byte> entries;  // For an EntryReader.
};

// An opened file, mapped to read. Immutable, thread safe. Movable.
class RecordingFile {
 public:
  // Checks the whole file. Errors name it.
  static base::Result<RecordingFile> Open(const std::string& path);
  // The same of bytes in memory, which are copied.
  static base::Result<RecordingFile> Read(std::span<const std::byte> bytes);

  // The text of the job block: JSON, or empty when there is none.
  std::string_view job() const { return job_; }
  // Returns them in the order of their ranks, each once.
  const std::vector<RecordedRank>& ranks() const { return ranks_; }
  std::uint64_t bytes() const { return bytes_; }
  // Fails unless the ranks are those that run of a job of `world` ranks: `live`, ascending; empty:
  // all of them. What other ranks would do is not known.
  base::Result<void> CheckRanks(std::span<const std::uint32_t> live, std::size_t world) const;

 private:
  RecordingFile() = default;
  base::Result<void> Sort(const std::vector<Block>& blocks);

  std::shared_ptr<const void> storage_;
  std::uint64_t bytes_ = 0;
  std::string_view job_;
  std::vector<RecordedRank> ranks_;
};

// A rank's entries as its agent wrote them.
struct RankPart {
  RankHeader header{};
  std::string path;
};
// Makes the file of one server of its ranks' parts, which are removed.
base::Result<void> WriteRanks(const std::vector<RankPart>& parts, const std::string& path);
// The block that says what was run. `text` is JSON.
void WriteJob(std::string_view text, std::ostream* out);

}  // namespace eidolon::recording
