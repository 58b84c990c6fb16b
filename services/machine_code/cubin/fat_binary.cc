// The format is undocumented; kinds and flags here are those that the fatbinary tool writes. Sizes
// in a container are claims: each is compared with the payload before memory is allocated, because
// a few damaged bytes could otherwise take gigabytes. The best ratio of the format bounds both
// compressions; a Zstandard frame mostly states its own size, too, which has to agree. Entries stay
// packed until one is chosen, since a library holds the same program for many architectures and a
// device loads one of them. Machine code wins over PTX, then the newer architecture, then the more
// specific target.
#include "services/machine_code/cubin/fat_binary.h"

#include <lz4.h>
#include <zstd.h>

#include <tuple>
#include <utility>

#include "services/base/text.h"

namespace eidolon::cubin {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

struct ContainerHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t body_bytes;
};
static_assert(sizeof(ContainerHeader) == 16);

struct EntryHeader {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t payload_bytes;
  std::uint32_t compressed_bytes;
  std::uint32_t options_offset;
  std::uint16_t minor;
  std::uint16_t major;
  std::uint32_t architecture;
  std::uint32_t name_offset;
  std::uint32_t name_bytes;
  std::uint64_t flags;
  std::uint64_t reserved;
  std::uint64_t unpacked_bytes;
};
static_assert(sizeof(EntryHeader) == 64);

constexpr std::uint16_t kKindPtx = 1;
constexpr std::uint16_t kKindCubin = 2;
// Seen with every compression mode of the fatbinary tool and with sm_90a, sm_100f and the like.
constexpr std::uint64_t kFlagLz4 = 0x2000;
constexpr std::uint64_t kFlagZstandard = 0x8000;
constexpr std::uint64_t kFlagSpecific = 0x100000;
constexpr std::uint64_t kFlagFamily = 0x200000;

// No cubin of the stock wheel comes near; a larger one is damage.
constexpr std::uint64_t kLargestUnpacked = std::uint64_t{256} << 20;

Suffix SuffixOf(std::uint64_t flags) {
  if (flags & kFlagSpecific) return Suffix::kSpecific;
  return flags & kFlagFamily ? Suffix::kFamily : Suffix::kNone;
}

base::Result<FatEntry> MakeEntry(const EntryHeader& header, Bytes stored) {
  FatEntry entry;
  entry.is_ptx = header.kind == kKindPtx;
  entry.target = {header.architecture, SuffixOf(header.flags)};
  entry.payload = stored;
  entry.unpacked_bytes = stored.size();
  if (!(header.flags & (kFlagLz4 | kFlagZstandard))) return entry;
  entry.compression = header.flags & kFlagZstandard ? Compression::kZstandard : Compression::kLz4;
  if (header.compressed_bytes > stored.size()) {
    return Fail(ErrorCode::kCorrupt,
                StrCat("fat binary entry for ", Name(entry.target), " claims ",
                       header.compressed_bytes, " compressed bytes in ", stored.size()));
  }
  entry.payload = stored.first(header.compressed_bytes);
  entry.unpacked_bytes = header.unpacked_bytes;
  return entry;
}

std::unexpected<base::Error> Damaged(const FatEntry& entry, std::string_view what) {
  return Fail(ErrorCode::kCorrupt,
              StrCat("fat binary entry for ", Name(entry.target), " does not unpack: ", what));
}

// A small payload must not make us allocate what it cannot hold.
std::unexpected<base::Error> TooShort(const FatEntry& entry) {
  return Damaged(entry, "it is too short for the size that its header names");
}

base::Result<std::vector<std::byte>> UnpackZstandard(const FatEntry& entry) {
  // A block of the format takes 4 bytes at least, 3 of them its header, and yields 128 KiB at most.
  constexpr std::uint64_t kBlockMin = 4;
  if (entry.unpacked_bytes > entry.payload.size() / kBlockMin * ZSTD_BLOCKSIZE_MAX) {
    return TooShort(entry);
  }
  const auto stored = ZSTD_getFrameContentSize(entry.payload.data(), entry.payload.size());
  if (stored != ZSTD_CONTENTSIZE_UNKNOWN && stored != entry.unpacked_bytes) {
    return Damaged(entry, "its frame does not have the size that its header names");
  }
  std::vector<std::byte> unpacked(entry.unpacked_bytes);
  const std::size_t size =
      ZSTD_decompress(unpacked.data(), unpacked.size(), entry.payload.data(), entry.payload.size());
  if (ZSTD_isError(size)) return Damaged(entry, ZSTD_getErrorName(size));
  if (size != unpacked.size()) return Damaged(entry, "it ends early");
  return unpacked;
}

base::Result<std::vector<std::byte>> UnpackLz4(const FatEntry& entry) {
  constexpr std::uint64_t kBestRatio = 255;  // Of the LZ4 block format.
  if (entry.unpacked_bytes > kBestRatio * entry.payload.size() + 64) {
    return TooShort(entry);
  }
  std::vector<std::byte> unpacked(entry.unpacked_bytes);
  const int size = LZ4_decompress_safe(
      reinterpret_cast<const char*>(entry.payload.data()), reinterpret_cast<char*>(unpacked.data()),
      static_cast<int>(entry.payload.size()), static_cast<int>(unpacked.size()));
  if (size < 0 || static_cast<std::size_t>(size) != unpacked.size()) {
    return Damaged(entry, "its LZ4 block is damaged");
  }
  return unpacked;
}

}  // namespace

base::Result<FatBinary> FatBinary::Parse(Bytes bytes) {
  const auto container = ReadAt<ContainerHeader>(bytes, 0);
  if (!container) return Fail(ErrorCode::kCorrupt, "fat binary is shorter than its header");
  if (container->magic != kFatBinaryMagic) {
    return Fail(ErrorCode::kCorrupt, StrCat("fat binary begins with ", container->magic));
  }
  const auto body = Slice(bytes, container->header_bytes, container->body_bytes);
  if (!body) {
    return Fail(ErrorCode::kCorrupt, StrCat("fat binary of ", bytes.size(), " bytes claims ",
                                            container->body_bytes, " after its header"));
  }
  FatBinary binary;
  std::uint64_t offset = 0;
  while (offset < body->size()) {
    const auto header = ReadAt<EntryHeader>(*body, offset);
    // Some tools pad the end of the container with zeros.
    if (!header || header->kind == 0) break;
    if (header->header_bytes < sizeof(EntryHeader)) {
      return Fail(ErrorCode::kCorrupt, StrCat("fat binary entry at ", offset, " has a header of ",
                                              header->header_bytes, " bytes"));
    }
    const auto stored = Slice(*body, offset + header->header_bytes, header->payload_bytes);
    if (!stored) {
      return Fail(ErrorCode::kCorrupt,
                  StrCat("fat binary entry at ", offset, " does not fit into its container"));
    }
    if (header->kind == kKindPtx || header->kind == kKindCubin) {
      auto entry = MakeEntry(*header, *stored);
      if (!entry) return std::unexpected(std::move(entry.error()));
      binary.entries_.push_back(*entry);
    }
    offset += header->header_bytes + header->payload_bytes;
  }
  return binary;
}

const FatEntry* FatBinary::Choose(Capability device) const {
  const FatEntry* best = nullptr;
  const auto rank = [](const FatEntry& entry) {
    return std::tuple(!entry.is_ptx, entry.target.architecture, entry.target.suffix);
  };
  for (const FatEntry& entry : entries_) {
    const bool runs =
        entry.is_ptx ? PtxRuns(entry.target, device) : CubinRuns(entry.target, device);
    if (runs && (best == nullptr || rank(*best) < rank(entry))) best = &entry;
  }
  return best;
}

std::optional<std::uint64_t> FatBinaryBytes(const void* start) {
  ContainerHeader header;
  std::memcpy(&header, start, sizeof(header));
  if (header.magic != kFatBinaryMagic) return std::nullopt;
  return header.header_bytes + header.body_bytes;
}

base::Result<std::vector<std::byte>> Unpack(const FatEntry& entry) {
  if (entry.unpacked_bytes > kLargestUnpacked) {
    return Damaged(entry, StrCat("its header names ", entry.unpacked_bytes, " bytes"));
  }
  switch (entry.compression) {
    case Compression::kZstandard:
      return UnpackZstandard(entry);
    case Compression::kLz4:
      return UnpackLz4(entry);
    case Compression::kNone:
      break;
  }
  return std::vector<std::byte>(entry.payload.begin(), entry.payload.end());
}

}  // namespace eidolon::cubin
