// Memory lies at the emulated addresses where the driver grants them, so that parameters can stay
// as they are; only where it does not, pointers are moved. Memory is mapped in whole granules, and
// ranges that share one are joined. Pieces of an earlier replay that match exactly stay mapped;
// those that overlap otherwise are dropped, as an address can be mapped once. Zeros are written
// before each replay, on its stream: what the last kernel left could be indices that lead outside.
#include "services/timing/replay/mirror.h"

#include <algorithm>
#include <iterator>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;
using base::StrCat;

namespace {

constexpr std::uint64_t kAddressMax = std::uint64_t{1} << 56;
constexpr std::size_t kPiecesMax = 4096;

// The ranges on whole granules, sorted, those that touch a granule together joined.
Result<std::vector<MemoryRange>> OnGranules(const std::vector<MemoryRange>& ranges,
                                            std::uint64_t granularity) {
  std::vector<MemoryRange> pieces;
  for (const MemoryRange& range : ranges) {
    if (range.bytes == 0 || range.bytes > kAddressMax || range.begin > kAddressMax) {
      return base::Fail(ErrorCode::kInvalidArgument,
                        StrCat("memory at ", range.begin, " of ", range.bytes, " bytes"));
    }
    const std::uint64_t begin = range.begin / granularity * granularity;
    const std::uint64_t end =
        (range.begin + range.bytes + granularity - 1) / granularity * granularity;
    pieces.push_back({begin, end - begin});
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::vector<MemoryRange> joined;
  for (const MemoryRange& piece : pieces) {
    if (!joined.empty() && piece.begin < joined.back().begin + joined.back().bytes) {
      MemoryRange& last = joined.back();
      last.bytes = std::max(last.bytes, piece.begin + piece.bytes - last.begin);
    } else {
      joined.push_back(piece);
    }
  }
  return joined;
}

}  // namespace

Mirror::~Mirror() {
  while (!pieces_.empty()) Drop(pieces_.begin());
}

// Visits the pieces that touch each range: an equal one stays, one that overlaps otherwise is
// dropped.
Result<void> Mirror::Require(const std::vector<MemoryRange>& ranges, CUstream stream) {
  const auto wanted = OnGranules(ranges, granularity_);
  if (!wanted) return std::unexpected(wanted.error());
  for (auto& [begin, piece] : pieces_) piece.required = false;
  if (pieces_.size() + wanted->size() > kPiecesMax) DropIdle();
  for (const MemoryRange& range : *wanted) {
    auto at = pieces_.upper_bound(range.begin);
    if (at != pieces_.begin()) --at;
    bool found = false;
    while (at != pieces_.end() && at->first < range.begin + range.bytes) {
      const bool equal = at->first == range.begin && at->second.bytes == range.bytes;
      const bool apart = at->first + at->second.bytes <= range.begin;
      found = found || equal;
      at->second.required = at->second.required || equal;
      at = equal || apart ? std::next(at) : Drop(at);
    }
    if (found) continue;
    if (auto mapped = MapPiece(range.begin, range.bytes); !mapped) return mapped;
  }
  moved_ = false;
  for (const auto& [begin, piece] : pieces_) {
    if (!piece.required) continue;
    moved_ = moved_ || piece.real != begin;
    const CUresult filled = driver_.cuMemsetD8Async(piece.real, 0, piece.bytes, stream);
    if (filled != CUDA_SUCCESS) return driver_.Check(filled, "filling memory");
  }
  return {};
}

std::uint64_t Mirror::Translate(std::uint64_t address) const {
  auto at = pieces_.upper_bound(address);
  CHECK(at != pieces_.begin());
  --at;
  CHECK(address - at->first < at->second.bytes);
  return at->second.real + (address - at->first);
}

Result<void> Mirror::MapPiece(std::uint64_t begin, std::uint64_t bytes) {
  std::size_t free = 0, total = 0;
  if (auto known = driver_.Check(driver_.cuMemGetInfo_v2(&free, &total), "asking for memory");
      !known) {
    return known;
  }
  if (bytes > free) {
    DropIdle();
    if (auto known = driver_.Check(driver_.cuMemGetInfo_v2(&free, &total), "asking for memory");
        !known) {
      return known;
    }
  }
  if (bytes > free) {
    return base::Fail(ErrorCode::kResourceExhausted,
                      StrCat("the rank's memory does not fit: ", bytes, " bytes are wanted, ", free,
                             " of ", total, " are free"));
  }
  CUdeviceptr real = 0;
  const CUresult reserved = driver_.cuMemAddressReserve(&real, bytes, granularity_, begin, 0);
  if (reserved != CUDA_SUCCESS) return driver_.Check(reserved, "reserving addresses");
  if (auto filled = Fill(real, bytes); !filled) {
    driver_.cuMemAddressFree(real, bytes);
    return filled;
  }
  pieces_[begin] = {.bytes = bytes, .real = real, .required = true};
  return {};
}

// Puts memory behind reserved addresses.
Result<void> Mirror::Fill(std::uint64_t real, std::uint64_t bytes) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device_;
  CUmemGenericAllocationHandle handle = 0;
  CUresult result = driver_.cuMemCreate(&handle, bytes, &properties, 0);
  if (result != CUDA_SUCCESS) return driver_.Check(result, "allocating memory");
  result = driver_.cuMemMap(real, bytes, 0, handle, 0);
  // The mapping keeps the memory.
  driver_.cuMemRelease(handle);
  if (result != CUDA_SUCCESS) return driver_.Check(result, "mapping memory");
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  result = driver_.cuMemSetAccess(real, bytes, &access, 1);
  if (result != CUDA_SUCCESS) {
    driver_.cuMemUnmap(real, bytes);
    return driver_.Check(result, "opening memory");
  }
  return {};
}

Mirror::Pieces::iterator Mirror::Drop(Pieces::iterator piece) {
  driver_.cuMemUnmap(piece->second.real, piece->second.bytes);
  driver_.cuMemAddressFree(piece->second.real, piece->second.bytes);
  return pieces_.erase(piece);
}

void Mirror::DropIdle() {
  for (auto at = pieces_.begin(); at != pieces_.end();) {
    at = at->second.required ? std::next(at) : Drop(at);
  }
}

}  // namespace eidolon::timing::replay
