// The file is mapped and not read: entries are decompressed where they lie when a rank is replayed.
// Its blocks come from several servers, hence ranks are in any order and are sorted here. A
// recording holds the ring's records as they were, so it can be replayed only by a build with the
// same version of the ring.
#include "services/contract/recording/recording_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "services/base/regular_file.h"
#include "services/base/text.h"
#include "services/contract/ring/server_page.h"

namespace eidolon::recording {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

namespace {

constexpr std::array<char, 8> kPadding{};

void WriteBlock(BlockKind kind, std::span<const std::span<const std::byte>> payload,
                std::ostream* out) {
  const BlockHeader header = HeaderOf(kind, payload);
  out->write(reinterpret_cast<const char*>(&header), sizeof(header));
  for (const auto& part : payload) {
    out->write(reinterpret_cast<const char*>(part.data()),
               static_cast<std::streamsize>(part.size()));
  }
  out->write(kPadding.data(),
             static_cast<std::streamsize>(PaddedBytes(header.bytes) - header.bytes));
}

}  // namespace

base::Result<RecordingFile> RecordingFile::Open(const std::string& path) {
  const auto fail = [&path](ErrorCode code, const std::string& why) {
    return Fail(code, StrCat(path, ": ", why));
  };
  const auto file = base::OpenRegularFile(path);
  if (!file) return std::unexpected(file.error());
  struct stat status {};
  const auto size = static_cast<std::size_t>(fstat(*file, &status) == 0 ? status.st_size : 0);
  void* mapped = size == 0 ? MAP_FAILED : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, *file, 0);
  close(*file);
  if (mapped == MAP_FAILED) return fail(ErrorCode::kCorrupt, "this is not a recording of Eidolon");
  RecordingFile recording;
  recording.storage_ =
      std::shared_ptr<const void>(mapped, [mapped, size](const void*) { munmap(mapped, size); });
  recording.bytes_ = size;
  const auto blocks = ReadBlocks({static_cast<const std::byte*>(mapped), size});
  if (!blocks) return fail(blocks.error().code, blocks.error().message);
  if (auto sorted = recording.Sort(*blocks); !sorted) {
    return fail(sorted.error().code, sorted.error().message);
  }
  return recording;
}

base::Result<RecordingFile> RecordingFile::Read(std::span<const std::byte> bytes) {
  const auto copy = std::make_shared<std::vector<std::uint64_t>>((bytes.size() + 7) / 8);
  if (!bytes.empty()) std::memcpy(copy->data(), bytes.data(), bytes.size());
  RecordingFile recording;
  recording.storage_ = copy;
  recording.bytes_ = bytes.size();
  const auto blocks = ReadBlocks({reinterpret_cast<const std::byte*>(copy->data()), bytes.size()});
  if (!blocks) return std::unexpected(blocks.error());
  if (auto sorted = recording.Sort(*blocks); !sorted) return std::unexpected(sorted.error());
  return recording;
}

base::Result<void> RecordingFile::Sort(const std::vector<Block>& blocks) {
  for (const Block& block : blocks) {
    if (block.kind == BlockKind::kJob) {
      job_ = {reinterpret_cast<const char*>(block.payload.data()), block.payload.size()};
      continue;
    }
    if (block.payload.size() < sizeof(RankHeader)) {
      return Fail(ErrorCode::kCorrupt, "the recording is damaged: a rank's block is too short");
    }
    RecordedRank rank;
    std::memcpy(&rank.header, block.payload.data(), sizeof(RankHeader));
    rank.entries = block.payload.subspan(sizeof(RankHeader));
    if (rank.header.ring_version != ring::kVersion) {
      return Fail(
          ErrorCode::kUnsupported,
          StrCat("the recording has records of version ", rank.header.ring_version,
                 ", and this build reads version ", ring::kVersion, "; record the job again"));
    }
    ranks_.push_back(rank);
  }
  std::ranges::stable_sort(ranks_, {}, [](const RecordedRank& each) { return each.header.rank; });
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const RankHeader& header = ranks_[i].header;
    if (header.rank < 0 || (i > 0 && ranks_[i - 1].header.rank == header.rank)) {
      return Fail(ErrorCode::kCorrupt,
                  StrCat("the recording is damaged: it has rank ", header.rank, " twice"));
    }
  }
  return {};
}

base::Result<void> RecordingFile::CheckRanks(std::span<const std::uint32_t> live,
                                             std::size_t world) const {
  const std::size_t ranks = live.empty() ? world : live.size();
  if (ranks_.size() != ranks) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("the recording has ", ranks_.size(), " ranks and the job has ", ranks,
                       "; what a job of another size does, a recording cannot tell"));
  }
  if (!ranks_.empty() && static_cast<std::size_t>(ranks_.back().header.rank) >= world) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("the recording has a rank ", ranks_.back().header.rank,
                       ", and the ranks of the job end at ", world - 1));
  }
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (static_cast<std::uint32_t>(ranks_[i].header.rank) == live[i]) continue;
    return Fail(
        ErrorCode::kInvalidArgument,
        StrCat("the recording has rank ", ranks_[i].header.rank, ", and the job has rank ", live[i],
               " live in its place; what another rank does, a recording cannot tell"));
  }
  return {};
}

base::Result<void> WriteRanks(const std::vector<RankPart>& parts, const std::string& path) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  for (const RankPart& part : parts) {
    std::ifstream in(part.path, std::ios::binary);
    const std::string entries((std::istreambuf_iterator<char>(in)),
                              std::istreambuf_iterator<char>());
    const std::array<std::span<const std::byte>, 2> payload = {
        std::as_bytes(std::span(&part.header, 1)), std::as_bytes(std::span(entries))};
    WriteBlock(BlockKind::kRank, payload, &out);
    std::error_code ignored;
    std::filesystem::remove(part.path, ignored);
  }
  out.close();
  if (out) return {};
  return Fail(ErrorCode::kResourceExhausted, StrCat("cannot write ", path));
}

void WriteJob(std::string_view text, std::ostream* out) {
  const std::array<std::span<const std::byte>, 1> payload = {std::as_bytes(std::span(text))};
  WriteBlock(BlockKind::kJob, payload, out);
}

}  // namespace eidolon::recording
