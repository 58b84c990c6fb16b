// Any bytes as a recording: refused with a sentence, or read to the end of every rank. The checks
// of blocks would stop nearly everything that a fuzzer changes, so they are computed anew. The
// first byte says what follows: a file as it is, a file whose checks are repaired, or pieces of
// which a file is made.
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "services/base/check.h"
#include "services/contract/recording/entry_reader.h"
#include "services/contract/recording/recording_file.h"
#include "services/contract/recording/repair_test.h"

namespace eidolon::recording {
namespace {

void ReadEntries(std::span<const std::byte> frame) {
  EntryReader reader(frame);
  for (int i = 0; i < 100'000; ++i) {
    const auto entry = reader.Next();
    if (!entry) {
      CHECK(!entry.error().message.empty());
      return;
    }
    if (!entry->has_value()) return;
    CHECK((*entry)->bytes.size() == (*entry)->header().bytes);
  }
}

void ReadFile(std::span<const std::byte> bytes, bool checks_are_right) {
  const auto file = RecordingFile::Read(bytes);
  if (!file) {
    CHECK(!file.error().message.empty());
    CHECK(!checks_are_right || !file.error().message.contains("the check of a block fails"));
    return;
  }
  CHECK(file->bytes() == bytes.size());
  for (const RecordedRank& rank : file->ranks()) ReadEntries(rank.entries);
}

// A piece is a byte of these, two of its size (little endian), and its bytes.
constexpr unsigned kIsRank = 1;
constexpr unsigned kHasOtherVersion = 2;  // Than this build's, in the header of the rank.
constexpr unsigned kIsNoFrame = 4;        // The entries are not compressed.

// The piece as the payload of a block.
std::vector<std::byte> Payload(unsigned kind, std::span<const std::byte> piece) {
  std::vector<std::byte> payload(piece.begin(), piece.end());
  if ((kind & kIsRank) == 0 || piece.size() < sizeof(RankHeader)) return payload;
  if ((kind & kHasOtherVersion) == 0) {
    std::memcpy(payload.data() + offsetof(RankHeader, ring_version), &ring::kVersion,
                sizeof(ring::kVersion));
  }
  if ((kind & kIsNoFrame) != 0) return payload;
  const auto entries = piece.subspan(sizeof(RankHeader));
  payload.resize(sizeof(RankHeader) + ZSTD_compressBound(entries.size()));
  const std::size_t bytes =
      ZSTD_compress(payload.data() + sizeof(RankHeader), payload.size() - sizeof(RankHeader),
                    entries.data(), entries.size(), /*compressionLevel=*/1);
  CHECK(!ZSTD_isError(bytes));
  payload.resize(sizeof(RankHeader) + bytes);
  return payload;
}

std::vector<std::byte> FileOfPieces(std::span<const std::byte> pieces) {
  constexpr std::size_t kHeadBytes = 3;
  std::vector<std::byte> file;
  while (pieces.size() > kHeadBytes) {
    const auto kind = static_cast<unsigned>(pieces[0]);
    const std::size_t said =
        static_cast<std::size_t>(pieces[1]) | (static_cast<std::size_t>(pieces[2]) << 8);
    pieces = pieces.subspan(kHeadBytes);
    const auto piece = pieces.first(std::min(said, pieces.size()));
    pieces = pieces.subspan(piece.size());
    AppendBlock((kind & kIsRank) != 0 ? BlockKind::kRank : BlockKind::kJob, Payload(kind, piece),
                &file);
  }
  return file;
}

}  // namespace
}  // namespace eidolon::recording

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace eidolon::recording;
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data + 1, size - 1));
  switch (data[0] % 3) {
    case 0:
      ReadFile(rest, /*checks_are_right=*/false);
      return 0;
    case 1: {
      std::vector<std::byte> file(rest.begin(), rest.end());
      RepairChecks(file);
      ReadFile(file, /*checks_are_right=*/true);
      return 0;
    }
    default:
      ReadFile(FileOfPieces(rest), /*checks_are_right=*/true);
      return 0;
  }
}
