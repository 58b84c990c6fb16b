// A result is cut into parts as later writes take bytes out of it; the parts share the result and
// are found by address in one map. The first reader of any part has the whole result computed once,
// and only the bytes of the parts that are left are given out. They are removed from the map before
// the computation, but the lock is held and the bounds stay until the end: another reader then sees
// the bounds, waits for the lock, and finds the bytes in the store. Publishing the bounds earlier
// would let it read them as unknown.
#include "shim/value/unread_results.h"

#include <iterator>
#include <utility>

namespace eidolon::shim::value {

UnreadResults::Parts::const_iterator UnreadResults::First(std::uint64_t address) const {
  const auto at = parts_.upper_bound(address);
  if (at == parts_.begin()) return at;
  const auto before = std::prev(at);
  return before->second.end > address ? before : at;
}

void UnreadResults::NoteBounds() {
  begin_.store(parts_.empty() ? 0 : parts_.begin()->first, std::memory_order_release);
  end_.store(parts_.empty() ? 0 : parts_.rbegin()->second.end, std::memory_order_release);
}

void UnreadResults::RemoveLocked(std::uint64_t begin, std::uint64_t end) {
  auto at = First(begin);
  while (at != parts_.end() && at->first < end) {
    const std::uint64_t old_begin = at->first;
    Part part = at->second;
    at = parts_.erase(at);
    if (part.end > end) at = parts_.emplace_hint(at, end, part);
    if (old_begin < begin) {
      part.end = begin;
      parts_.emplace_hint(at, old_begin, std::move(part));
    }
  }
}

bool UnreadResults::Add(std::uint64_t begin, std::uint64_t end,
                        std::shared_ptr<UnreadResult> result) {
  const std::lock_guard guard(mutex_);
  if (begin >= end || parts_.size() >= kMost) return false;
  RemoveLocked(begin, end);
  parts_.emplace(begin, Part{.end = end, .result = std::move(result)});
  NoteBounds();
  return true;
}

void UnreadResults::Remove(std::uint64_t begin, std::uint64_t end) {
  if (!MayHold(begin, end)) return;
  const std::lock_guard guard(mutex_);
  RemoveLocked(begin, end);
  NoteBounds();
}

bool UnreadResults::Holds(std::uint64_t begin, std::uint64_t end) const {
  if (!MayHold(begin, end)) return false;
  const std::lock_guard guard(mutex_);
  const auto part = First(begin);
  return part != parts_.end() && part->first < end;
}

std::uint64_t UnreadResults::EndOf(std::uint64_t address) const {
  if (!MayHold(address, address + 1)) return 0;
  const std::lock_guard guard(mutex_);
  const auto part = First(address);
  return part != parts_.end() && part->first <= address ? part->second.end : 0;
}

RangeSet UnreadResults::TakeLocked(const UnreadResult* result) {
  RangeSet ranges;
  for (auto at = parts_.begin(); at != parts_.end();) {
    if (at->second.result.get() != result) {
      ++at;
      continue;
    }
    ranges.Add(at->first, at->second.end);
    at = parts_.erase(at);
  }
  return ranges;
}

void UnreadResults::Compute(std::uint64_t begin, std::uint64_t end, const UnreadResult::Give& give,
                            const std::function<void(std::uint64_t, std::uint64_t)>& lose) {
  if (!MayHold(begin, end)) return;
  const std::lock_guard guard(mutex_);
  for (auto part = First(begin); part != parts_.end() && part->first < end; part = First(begin)) {
    const std::shared_ptr<UnreadResult> result = part->second.result;
    const RangeSet ranges = TakeLocked(result.get());
    const bool computed =
        result->Compute([&](std::uint64_t address, const unsigned char* bytes, std::uint64_t size) {
          ranges.ForEach(address, address + size, [&](std::uint64_t from, std::uint64_t to) {
            give(from, bytes + (from - address), to - from);
          });
        });
    if (!computed) ranges.ForEach(0, ~std::uint64_t{0}, lose);
  }
  NoteBounds();  // Only now: until then others wait for it.
}

}  // namespace eidolon::shim::value
