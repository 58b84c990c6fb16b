#include "shim/gpu/memory/address_space.h"

#include <iterator>

namespace eidolon::shim::gpu {

void AddressSpace::Cut(Free::iterator range, std::uint64_t begin, std::uint64_t bytes) {
  const std::uint64_t range_begin = range->first;
  const std::uint64_t range_end = range_begin + range->second;
  free_.erase(range);
  if (begin > range_begin) free_[range_begin] = begin - range_begin;
  if (range_end > begin + bytes) free_[begin + bytes] = range_end - (begin + bytes);
}

std::optional<std::uint64_t> AddressSpace::Take(std::uint64_t bytes, std::uint64_t alignment) {
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const std::uint64_t begin = (range->first + alignment - 1) & ~(alignment - 1);
    const std::uint64_t skipped = begin - range->first;
    if (skipped > range->second || range->second - skipped < bytes) continue;
    Cut(range, begin, bytes);
    return begin;
  }
  return std::nullopt;
}

bool AddressSpace::TakeAt(std::uint64_t begin, std::uint64_t bytes) {
  auto after = free_.upper_bound(begin);
  if (after == free_.begin()) return false;
  const auto range = std::prev(after);
  const std::uint64_t skipped = begin - range->first;
  if (skipped > range->second || range->second - skipped < bytes) return false;
  Cut(range, begin, bytes);
  return true;
}

void AddressSpace::GiveBack(std::uint64_t begin, std::uint64_t bytes) {
  auto after = free_.lower_bound(begin);
  if (after != free_.end() && begin + bytes == after->first) {
    bytes += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      before->second += bytes;
      return;
    }
  }
  free_[begin] = bytes;
}

}  // namespace eidolon::shim::gpu
