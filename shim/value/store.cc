#include "shim/value/store.h"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <new>
#include <vector>

namespace eidolon::shim::value {

struct Store::Page {
  std::bitset<kPageBytes> kept;   // The byte has a value.
  std::bitset<kPageBytes> known;  // Implies kept; no kernel may have changed it.
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

template <std::size_t kBits>
void SetRange(std::bitset<kBits>& bits, std::size_t begin, std::size_t length, bool value) {
  if (length == kBits) {
    value ? bits.set() : bits.reset();
    return;
  }
  for (std::size_t i = begin; i < begin + length; ++i) bits[i] = value;
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
    page = std::make_unique<Page>();
    order_.push_back(number);
    const std::size_t bit = FilterBit(number);
    filter_[bit / 64].fetch_or(std::uint64_t{1} << (bit % 64), std::memory_order_relaxed);
  }
  return *page;
}

void Store::EvictOldest() {
  while (pages_.size() * kPageBytes > kCapacityBytes && !order_.empty()) {
    pages_.erase(order_.front());
    order_.pop_front();
  }
}

void Store::WriteLocked(std::uint64_t address, const unsigned char* bytes, std::size_t size) {
  ForEachPage(address, size,
              [&](std::uint64_t number, std::size_t offset, std::size_t done, std::size_t length) {
                Page& page = GetPage(number);
                std::memcpy(page.bytes + offset, bytes + done, length);
                SetRange(page.kept, offset, length, true);
                SetRange(page.known, offset, length, true);
              });
  EvictOldest();
}

void Store::ForgetLocked(std::uint64_t address, std::size_t size) {
  if (size / kPageBytes > pages_.size()) {
    // A large range and few pages: walk the pages.
    std::erase_if(pages_, [&](const auto& entry) {
      const std::uint64_t begin = entry.first * kPageBytes;
      return begin >= address && begin + kPageBytes <= address + size;
    });
    const std::uint64_t last = address + size - 1;
    for (const std::uint64_t number : {address / kPageBytes, last / kPageBytes}) {
      Page* page = FindPage(number);
      if (page == nullptr) continue;
      const std::uint64_t begin = std::max(address, number * kPageBytes);
      const std::uint64_t end = std::min(address + size, (number + 1) * kPageBytes);
      SetRange(page->kept, begin % kPageBytes, end - begin, false);
      SetRange(page->known, begin % kPageBytes, end - begin, false);
    }
    return;
  }
  ForEachPage(address, size,
              [&](std::uint64_t number, std::size_t offset, std::size_t, std::size_t length) {
                if (length == kPageBytes) {
                  pages_.erase(number);
                } else if (Page* page = FindPage(number)) {
                  SetRange(page->kept, offset, length, false);
                  SetRange(page->known, offset, length, false);
                }
              });
}

void Store::Write(std::uint64_t address, const void* bytes, std::size_t size) {
  if (size == 0) return;
  const std::lock_guard guard(mutex_);
  if (size > kLargestKeptWrite) {
    ForgetLocked(address, size);
  } else {
    WriteLocked(address, static_cast<const unsigned char*>(bytes), size);
  }
}

void Store::Fill(std::uint64_t address, std::uint64_t pattern, std::size_t element_bytes,
                 std::size_t size) {
  if (size == 0) return;
  if (size > kLargestKeptWrite) return Forget(address, size);
  std::vector<unsigned char> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<unsigned char>(pattern >> (8 * (i % element_bytes)));
  }
  const std::lock_guard guard(mutex_);
  WriteLocked(address, bytes.data(), size);
}

void Store::Copy(std::uint64_t target, std::uint64_t source, std::size_t size) {
  if (size == 0 || target == source) return;
  const std::lock_guard guard(mutex_);
  if (size > kLargestKeptWrite) return ForgetLocked(target, size);
  std::vector<unsigned char> bytes(size);
  std::vector<bool> kept(size);
  std::vector<bool> known(size);
  bool any = false;
  ForEachPage(source, size,
              [&](std::uint64_t number, std::size_t offset, std::size_t done, std::size_t length) {
                const Page* page = FindPage(number);
                if (page == nullptr) return;
                any = true;
                std::memcpy(bytes.data() + done, page->bytes + offset, length);
                for (std::size_t i = 0; i < length; ++i) {
                  kept[done + i] = page->kept[offset + i];
                  known[done + i] = page->known[offset + i];
                }
              });
  if (!any) return ForgetLocked(target, size);
  ForEachPage(target, size,
              [&](std::uint64_t number, std::size_t offset, std::size_t done, std::size_t length) {
                Page& page = GetPage(number);
                std::memcpy(page.bytes + offset, bytes.data() + done, length);
                for (std::size_t i = 0; i < length; ++i) {
                  page.kept[offset + i] = kept[done + i];
                  page.known[offset + i] = known[done + i];
                }
              });
  EvictOldest();
}

std::size_t Store::Read(std::uint64_t address, void* bytes, std::size_t size,
                        unsigned char unknown_byte) const {
  auto* out = static_cast<unsigned char*>(bytes);
  std::size_t unknown = 0;
  const std::lock_guard guard(mutex_);
  ForEachPage(address, size,
              [&](std::uint64_t number, std::size_t offset, std::size_t done, std::size_t length) {
                const Page* page = FindPage(number);
                if (page == nullptr) {
                  std::memset(out + done, unknown_byte, length);
                  unknown += length;
                  return;
                }
                for (std::size_t i = 0; i < length; ++i) {
                  out[done + i] = page->kept[offset + i] ? page->bytes[offset + i] : unknown_byte;
                  unknown += page->known[offset + i] ? 0 : 1;
                }
              });
  return unknown;
}

bool Store::IsKnown(std::uint64_t address, std::size_t size) const {
  bool all = true;
  const std::lock_guard guard(mutex_);
  ForEachPage(address, size,
              [&](std::uint64_t number, std::size_t offset, std::size_t, std::size_t length) {
                const Page* page = all ? FindPage(number) : nullptr;
                if (page == nullptr) {
                  all = false;
                  return;
                }
                for (std::size_t i = 0; i < length && all; ++i) all = page->known[offset + i];
              });
  return all;
}

void Store::Forget(std::uint64_t address, std::size_t size) {
  if (size == 0) return;
  const std::lock_guard guard(mutex_);
  ForgetLocked(address, size);
}

void Store::MakeStale(std::uint64_t address) {
  const std::lock_guard guard(mutex_);
  for (std::uint64_t number = address / kPageBytes;; ++number) {
    Page* page = FindPage(number);
    if (page == nullptr) return;
    const std::size_t begin = number == address / kPageBytes ? address % kPageBytes : 0;
    for (std::size_t i = begin; i < kPageBytes; ++i) {
      if (!page->kept[i]) return;
      page->known[i] = false;
    }
  }
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
