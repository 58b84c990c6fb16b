// Two sets of ranges describe the same pages: `kept_` are bytes that have a value, and `known_`,
// always a subset, are those that no kernel may have changed since. Losing knowledge is then the
// removal of a range without touching a page, and the value stays for Revive. Pages leave in the
// order in which they were made when the capacity is exceeded, which makes their bytes unknown and
// never wrong. The filter answers the question of every launch, whether anything is kept near a
// pointer, with one relaxed load; bits are set and never cleared, so it may say yes in vain.
//
// Results that were not computed yet lie in `unread_`, whose lock is taken first: computing one
// calls back into this class.
#include "shim/value/store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <vector>

#include "shim/value/object.h"
#include "shim/value/zeros.h"

namespace eidolon::shim::value {

struct Store::Page {
  unsigned char bytes[kPageBytes];
};

namespace {

constexpr std::uint64_t kPage = 4096;

// Calls body(page number, offset in page, offset in range, length) for each page of a range.
template <typename Body>
void ForEachPage(std::uint64_t address, std::size_t size, Body&& body) {
  std::size_t done = 0;
  while (done < size) {
    const std::uint64_t at = address + done;
    const std::size_t offset = at % kPage;
    const std::size_t length = std::min<std::size_t>(size - done, kPage - offset);
    body(at / kPage, offset, done, length);
    done += length;
  }
}

// `size` bytes of a repeated pattern.
std::vector<unsigned char> Repeat(std::uint64_t pattern, std::size_t element_bytes,
                                  std::size_t size) {
  std::vector<unsigned char> bytes(size, static_cast<unsigned char>(pattern));
  if (element_bytes == 1) return bytes;
  std::size_t filled = std::min(element_bytes, size);
  std::memcpy(bytes.data(), &pattern, filled);
  while (filled < size) {
    const std::size_t more = std::min(filled, size - filled);
    std::memcpy(bytes.data() + filled, bytes.data(), more);
    filled += more;
  }
  return bytes;
}

}  // namespace

Store::Store() { static_assert(kPageBytes == kPage); }
Store::~Store() = default;

Store::Page* Store::FindPage(std::uint64_t number) const {
  const auto found = pages_.find(number);
  return found == pages_.end() ? nullptr : found->second.get();
}

Store::Page& Store::GetPage(std::uint64_t number) {
  std::unique_ptr<Page>& page = pages_[number];
  if (page == nullptr) {
    page = std::make_unique_for_overwrite<Page>();
    // Pages that came and went leave their numbers behind.
    if (order_.size() > 4 * pages_.size() + 1024) {
      std::erase_if(order_, [&](std::uint64_t old) { return !pages_.contains(old); });
    }
    order_.push_back(number);
    const std::size_t bit = FilterBit(number);
    filter_[bit / 64].fetch_or(std::uint64_t{1} << (bit % 64), std::memory_order_relaxed);
  }
  return *page;
}

void Store::EvictOldest() {
  while (pages_.size() * kPageBytes > kCapacityBytes && !order_.empty()) {
    const std::uint64_t begin = order_.front() * kPageBytes;
    kept_.Remove(begin, begin + kPageBytes);
    known_.Remove(begin, begin + kPageBytes);
    pages_.erase(order_.front());
    order_.pop_front();
  }
}

void Store::WriteLocked(std::uint64_t address, const unsigned char* bytes, std::size_t size) {
  ForEachPage(address, size,
              [&](std::uint64_t number, std::size_t offset, std::size_t done, std::size_t length) {
                std::memcpy(GetPage(number).bytes + offset, bytes + done, length);
              });
  kept_.Add(address, address + size);
  known_.Add(address, address + size);
  known_version_.fetch_add(1, std::memory_order_release);
  EvictOldest();
}

void Store::ForgetLocked(std::uint64_t address, std::size_t size) {
  const std::uint64_t end = address + size;
  std::vector<std::uint64_t> numbers;
  kept_.ForEach(address, end, [&](std::uint64_t begin, std::uint64_t until) {
    for (std::uint64_t number = begin / kPageBytes; number * kPageBytes < until; ++number) {
      if (numbers.empty() || numbers.back() != number) numbers.push_back(number);
    }
  });
  kept_.Remove(address, end);
  known_.Remove(address, end);
  for (const std::uint64_t number : numbers) {
    bool empty = true;
    kept_.ForEach(number * kPageBytes, (number + 1) * kPageBytes,
                  [&](std::uint64_t, std::uint64_t) { empty = false; });
    if (empty) pages_.erase(number);
  }
}

void Store::ReadLocked(std::uint64_t address, unsigned char* bytes, std::size_t size) const {
  ForEachPage(address, size,
              [&](std::uint64_t number, std::size_t offset, std::size_t done, std::size_t length) {
                std::memcpy(bytes + done, FindPage(number)->bytes + offset, length);
              });
}

bool Store::IsKept(const void* bytes, std::size_t size) {
  if (size <= kLargestKeptWrite) return true;
  return size <= kLargestKeptObject &&
         StartsLikeAPickle({static_cast<const std::byte*>(bytes), kShortestPickle});
}

bool Store::WriteUnread(std::uint64_t begin, std::uint64_t end, std::uint64_t written_end,
                        std::shared_ptr<UnreadResult> result) {
  {
    const std::lock_guard guard(mutex_);
    if (known_.HasAny(begin, written_end)) return false;
  }
  if (!unread_.Add(begin, end, std::move(result))) return false;
  authors_.Note({.author = kByOthers, .begin = begin});
  known_version_.fetch_add(1, std::memory_order_release);
  return true;
}

bool Store::ComputeUnread(std::uint64_t address) const {
  if (!unread_.Holds(address, address + 1)) return false;
  ComputeUnread(address, address + 1);
  return true;
}

// What is known does not change: results that were known are there now.
void Store::ComputeUnread(std::uint64_t begin, std::uint64_t end) const {
  auto& self = const_cast<Store&>(*this);
  unread_.Compute(
      begin, end,
      [&](std::uint64_t address, const unsigned char* bytes, std::uint64_t size) {
        const std::lock_guard guard(mutex_);
        self.WriteLocked(address, bytes, size);
      },
      [&](std::uint64_t from, std::uint64_t to) {
        const std::lock_guard guard(mutex_);
        self.ForgetLocked(from, to - from);
      });
}

void Store::Write(std::uint64_t address, const void* bytes, std::size_t size) {
  if (size == 0) return;
  unread_.Remove(address, address + size);
  const std::lock_guard guard(mutex_);
  if (!IsKept(bytes, size)) {
    ForgetLocked(address, size);
    authors_.Note({.author = kByHost, .begin = address});
  } else {
    WriteLocked(address, static_cast<const unsigned char*>(bytes), size);
  }
}

void Store::Fill(std::uint64_t address, std::uint64_t pattern, std::size_t element_bytes,
                 std::size_t size) {
  if (size == 0) return;
  if (size > kLargestKeptWrite) return Forget(address, size, kByHost);
  unread_.Remove(address, address + size);
  const std::vector<unsigned char> bytes = Repeat(pattern, element_bytes, size);
  const std::lock_guard guard(mutex_);
  WriteLocked(address, bytes.data(), size);
}

void Store::Copy(std::uint64_t target, std::uint64_t source, std::size_t size) {
  if (size == 0 || target == source) return;
  if (size <= kLargestKeptWrite) ComputeUnread(source, source + size);
  unread_.Remove(target, target + size);
  const std::lock_guard guard(mutex_);
  authors_.Follow(target, source);
  if (size > kLargestKeptWrite) {
    std::array<unsigned char, kShortestPickle> head{};
    if (known_.Contains(source, source + head.size())) ReadLocked(source, head.data(), head.size());
    if (!IsKept(head.data(), size)) return ForgetLocked(target, size);
  }
  struct Part {
    std::uint64_t offset;
    std::vector<unsigned char> bytes;
  };
  std::vector<Part> parts;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> known;
  kept_.ForEach(source, source + size, [&](std::uint64_t begin, std::uint64_t end) {
    parts.push_back({begin - source, std::vector<unsigned char>(end - begin)});
    ReadLocked(begin, parts.back().bytes.data(), end - begin);
  });
  known_.ForEach(source, source + size, [&](std::uint64_t begin, std::uint64_t end) {
    known.emplace_back(begin - source, end - source);
  });
  ForgetLocked(target, size);
  for (const Part& part : parts) {
    WriteLocked(target + part.offset, part.bytes.data(), part.bytes.size());
  }
  known_.Remove(target, target + size);
  for (const auto& [begin, end] : known) known_.Add(target + begin, target + end);
}

std::size_t Store::Read(std::uint64_t address, void* bytes, std::size_t size,
                        unsigned char unknown_byte) const {
  auto* out = static_cast<unsigned char*>(bytes);
  std::size_t unknown = size;
  FillUnknown(out, size, unknown_byte);
  ComputeUnread(address, address + size);
  const std::lock_guard guard(mutex_);
  known_.ForEach(address, address + size, [&](std::uint64_t begin, std::uint64_t end) {
    ReadLocked(begin, out + (begin - address), end - begin);
    unknown -= end - begin;
  });
  return unknown;
}

bool Store::IsKnown(std::uint64_t address, std::size_t size) const {
  if (size == 0) return true;
  ComputeUnread(address, address + size);
  const std::lock_guard guard(mutex_);
  return known_.Contains(address, address + size);
}

void Store::Forget(std::uint64_t address, std::size_t size, Author author) {
  if (size == 0) return;
  unread_.Remove(address, address + size);
  const std::lock_guard guard(mutex_);
  ForgetLocked(address, size);
  authors_.Note({.author = author, .begin = address});
}

void Store::MakeStale(std::uint64_t address) { MakeStale(address, KeptEnd(address)); }

void Store::MakeStale(std::uint64_t begin, std::uint64_t end) {
  unread_.Remove(begin, end);
  const std::lock_guard guard(mutex_);
  known_.Remove(begin, end);
}

std::size_t Store::Revive(std::uint64_t address, std::size_t most) {
  const std::lock_guard guard(mutex_);
  const std::uint64_t end = std::min(kept_.EndOf(address), address + most);
  if (end <= address || known_.Contains(address, end)) return 0;
  known_.Add(address, end);
  known_version_.fetch_add(1, std::memory_order_release);
  return end - address;
}

bool Store::HasKnown(std::uint64_t begin, std::uint64_t end) const {
  if (unread_.Holds(begin, end)) return true;
  const std::lock_guard guard(mutex_);
  return known_.HasAny(begin, end);
}

void Store::ReadPage(std::uint64_t number, std::byte* bytes, PageBits& known) const {
  std::memset(bytes, 0, kPageBytes);
  known = {};
  const std::uint64_t begin = number * kPageBytes;
  const std::lock_guard guard(mutex_);
  const Page* page = FindPage(number);
  if (page == nullptr) return;
  kept_.ForEach(begin, begin + kPageBytes, [&](std::uint64_t from, std::uint64_t to) {
    std::memcpy(bytes + (from - begin), page->bytes + (from - begin), to - from);
  });
  known_.ForEach(begin, begin + kPageBytes, [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t at = from - begin; at < to - begin;) {
      const std::uint64_t bits = std::min(64 - at % 64, to - begin - at);
      known[at / 64] |= ~std::uint64_t{0} >> (64 - bits) << (at % 64);
      at += bits;
    }
  });
}

std::uint64_t Store::KnownRun(std::uint64_t address) const {
  const std::lock_guard guard(mutex_);
  const std::uint64_t end = known_.EndOf(address);
  return end == 0 ? 0 : end - address;
}

std::uint64_t Store::KeptEnd(std::uint64_t address) const {
  std::uint64_t end = 0;
  for (std::uint64_t at = address; at != 0;) {
    const std::uint64_t unread = unread_.EndOf(at);
    const std::lock_guard guard(mutex_);
    at = std::max(unread, kept_.EndOf(at));
    if (at != 0) end = at;
  }
  return end;
}

std::size_t Store::kept_bytes() const {
  const std::lock_guard guard(mutex_);
  return pages_.size() * kPageBytes;
}

Store& ProcessStore() {
  // Never destroyed: threads may outlive main.
  alignas(Store) static std::byte storage[sizeof(Store)];
  static Store* const store = new (storage) Store;
  return *store;
}

}  // namespace eidolon::shim::value
