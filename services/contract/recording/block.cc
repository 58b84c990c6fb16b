#include "services/contract/recording/block.h"

#include <cstring>

#include "services/base/hash.h"
#include "services/base/text.h"

namespace eidolon::recording {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

BlockHeader HeaderOf(BlockKind kind, std::span<const std::span<const std::byte>> payload) {
  BlockHeader header{.magic = kMagic, .version = kVersion, .kind = kind, .bytes = 0, .check = 0};
  for (const auto& part : payload) {
    header.check = base::Hash64(part.data(), part.size(), header.check);
    header.bytes += part.size();
  }
  return header;
}

namespace {

// A rank's block is hashed as it is written: its header, then its entries.
std::uint64_t CheckOf(BlockKind kind, std::span<const std::byte> payload) {
  if (kind != BlockKind::kRank || payload.size() < sizeof(RankHeader)) {
    return base::Hash64(payload.data(), payload.size());
  }
  const std::uint64_t head = base::Hash64(payload.data(), sizeof(RankHeader));
  return base::Hash64(payload.data() + sizeof(RankHeader), payload.size() - sizeof(RankHeader),
                      head);
}

}  // namespace

base::Result<std::vector<Block>> ReadBlocks(std::span<const std::byte> file) {
  std::vector<Block> blocks;
  std::size_t at = 0;
  while (at < file.size()) {
    const auto damaged = [at](std::string_view what) {
      return Fail(ErrorCode::kCorrupt, StrCat("the recording is damaged at byte ", at, ": ", what));
    };
    BlockHeader header;
    if (file.size() - at < sizeof(header)) return damaged("it is cut off");
    std::memcpy(&header, file.data() + at, sizeof(header));
    if (header.magic != kMagic) {
      return at == 0 ? Fail(ErrorCode::kCorrupt, "this is not a recording of Eidolon")
                     : damaged("a block begins with other bytes");
    }
    if (header.version != kVersion) {
      return Fail(ErrorCode::kUnsupported, StrCat("the recording has version ", header.version,
                                                  " of the format, and this "
                                                  "build reads version ",
                                                  kVersion, "; record the job again"));
    }
    const std::size_t room = file.size() - at - sizeof(header);
    if (header.bytes > room || PaddedBytes(header.bytes) > room) return damaged("it is cut off");
    const auto payload = file.subspan(at + sizeof(header), header.bytes);
    if (CheckOf(header.kind, payload) != header.check) return damaged("the check of a block fails");
    if (header.kind != BlockKind::kJob && header.kind != BlockKind::kRank) {
      return damaged("a block is of an unknown kind");
    }
    blocks.push_back({header.kind, payload});
    at += sizeof(header) + PaddedBytes(header.bytes);
  }
  return blocks;
}

}  // namespace eidolon::recording
