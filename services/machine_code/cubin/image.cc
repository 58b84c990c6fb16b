// A cache entry's key is the hash of the payload as it is stored, packed: a later process finds its
// index without unpacking or parsing anything. The target and the kind are mixed in, because
// the same payload may stand in another container under other ones. The build is mixed into
// the file's name, so that a program that reads code otherwise never opens this one's indices.
// Whether the code runs on the device is checked on the index, at the end: a cubin or PTX text that
// comes without a container states its architecture only inside.
#include "services/machine_code/cubin/image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "services/base/hex.h"
#include "services/base/replace_file.h"
#include "services/base/text.h"
#include "services/machine_code/cubin/cubin.h"
#include "services/machine_code/cubin/ptx.h"

namespace eidolon::cubin {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

// Wrapper that the host object holds in .nvFatBinSegment and registration passes.
struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* data;
  const void* linked;
};
constexpr std::uint32_t kWrapperMagic = 0x466243b1;

base::Result<std::vector<std::byte>> IndexCode(Bytes code, bool is_ptx, Target target) {
  auto parsed = is_ptx ? ParsePtx(AsText(code)) : ParseCubin(code);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  if (target.architecture != 0) parsed->target = target;  // The container knows the suffix.
  const base::Digest content = base::Hash128(code.data(), code.size());
  return BuildIndex(*parsed, content);
}

base::Result<FatEntry> ChooseEntry(const FoundImage& image, Capability device) {
  FatEntry entry;
  entry.payload = image.bytes;
  entry.unpacked_bytes = image.bytes.size();
  entry.is_ptx = image.kind == ImageKind::kPtx;
  if (image.kind != ImageKind::kFatBinary) return entry;
  const auto binary = FatBinary::Parse(image.bytes);
  if (!binary) return std::unexpected(binary.error());
  const FatEntry* chosen = binary->Choose(device);
  if (chosen != nullptr) return *chosen;
  return Fail(ErrorCode::kNotFound, StrCat("no code in the fat binary runs on compute capability ",
                                           device.major, ".", device.minor));
}

}  // namespace

base::Result<std::vector<std::byte>> CodeFor(const FoundImage& image, Capability device) {
  const auto entry = ChooseEntry(image, device);
  if (!entry) return std::unexpected(entry.error());
  if (entry->compression != Compression::kNone) return Unpack(*entry);
  return std::vector<std::byte>(entry->payload.begin(), entry->payload.end());
}

base::Result<FoundImage> FindImage(const void* start) {
  std::uint32_t magic;
  std::memcpy(&magic, start, sizeof(magic));
  if (magic == kWrapperMagic) {
    Wrapper wrapper;
    std::memcpy(&wrapper, start, sizeof(wrapper));
    if (wrapper.data == nullptr) return Fail(ErrorCode::kCorrupt, "fat binary wrapper is empty");
    start = wrapper.data;
    std::memcpy(&magic, start, sizeof(magic));
  }
  const auto* bytes = static_cast<const std::byte*>(start);
  if (magic == kFatBinaryMagic) {
    return FoundImage{ImageKind::kFatBinary, {bytes, *FatBinaryBytes(start)}};
  }
  if (magic == kElfMagic) {
    const auto size = CubinBytes(start);
    if (!size) return Fail(ErrorCode::kInvalidArgument, "ELF file is not a cubin");
    return FoundImage{ImageKind::kCubin, {bytes, *size}};
  }
  const char first = static_cast<char>(magic & 0xff);
  const bool text =
      first == '\t' || first == '\n' || first == '\r' || (first >= ' ' && first < 127);
  if (!text) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("device code begins with ", magic, ": neither fat binary, cubin nor PTX"));
  }
  return FoundImage{ImageKind::kPtx, {bytes, std::strlen(static_cast<const char*>(start))}};
}

LoadedIndex::~LoadedIndex() {
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
}

std::string IndexCache::PathFor(base::Digest key) const {
  const base::Digest name{key.high ^ build_.high, key.low ^ build_.low};
  return StrCat(folder_, "/", base::Hex(name), ".cubin-index");
}

std::unique_ptr<LoadedIndex> IndexCache::Find(base::Digest key) const {
  const int file = open(PathFor(key).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat status = {};
  std::unique_ptr<LoadedIndex> loaded;
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped != MAP_FAILED) {
      loaded.reset(new LoadedIndex());
      loaded->mapped_ = mapped;
      loaded->mapped_bytes_ = size;
      auto index = Index::Open({static_cast<const std::byte*>(mapped), size});
      if (index) {
        loaded->index_ = *index;
      } else {
        loaded.reset();
      }
    }
  }
  close(file);
  return loaded;
}

// Failing to keep an index costs the next process a millisecond: not worth an error.
void IndexCache::Store(base::Digest key, Bytes block) const {
  base::ReplaceFile(PathFor(key), block);
}

base::Result<std::unique_ptr<LoadedIndex>> IndexCache::Load(const FoundImage& image,
                                                            Capability device) const {
  const auto entry = ChooseEntry(image, device);
  if (!entry) return std::unexpected(entry.error());
  base::Digest key = base::Hash128(entry->payload.data(), entry->payload.size());
  // The same text may stand in a container under another target.
  key.low ^= std::uint64_t{entry->target.architecture} << 32 |
             static_cast<std::uint64_t>(entry->target.suffix) << 8 | (entry->is_ptx ? 1 : 0);
  std::unique_ptr<LoadedIndex> loaded = folder_.empty() ? nullptr : Find(key);
  if (loaded == nullptr) {
    Bytes code = entry->payload;
    std::vector<std::byte> unpacked;
    if (entry->compression != Compression::kNone) {
      auto result = Unpack(*entry);
      if (!result) return std::unexpected(std::move(result.error()));
      unpacked = std::move(*result);
      code = unpacked;
    }
    auto block = IndexCode(code, entry->is_ptx, entry->target);
    if (!block) return std::unexpected(std::move(block.error()));
    loaded.reset(new LoadedIndex());
    loaded->built_ = std::move(*block);
    auto index = Index::Open(loaded->built_);
    if (!index) return std::unexpected(std::move(index.error()));
    loaded->index_ = *index;
    if (!folder_.empty()) Store(key, loaded->built_);
  }
  const Target target = loaded->index_.header().target;
  const bool runs = entry->is_ptx ? PtxRuns(target, device) : CubinRuns(target, device);
  if (runs) return loaded;
  return Fail(ErrorCode::kNotFound,
              StrCat("code for ", Name(target), " does not run on compute capability ",
                     device.major, ".", device.minor));
}

}  // namespace eidolon::cubin
