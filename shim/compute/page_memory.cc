#include "shim/compute/page_memory.h"

#include <algorithm>
#include <bit>

#include "shim/compute/machine_code.h"

namespace eidolon::shim::compute {
namespace {

using interpret::kPageBytes;
using interpret::Page;
using interpret::PageBits;

static_assert(kPageBytes == value::Store::kPageBytes);

constexpr std::size_t kMostPages = 8192;

// The first bit from `at` on that is `set`, or the page's end.
std::size_t FindBit(const PageBits& bits, std::size_t at, bool set) {
  while (at < kPageBytes) {
    std::uint64_t word = bits[at / 64];
    if (!set) word = ~word;
    word >>= at % 64;
    if (word != 0) return std::min<std::size_t>(at + std::countr_zero(word), kPageBytes);
    at = (at / 64 + 1) * 64;
  }
  return kPageBytes;
}

}  // namespace

Page* PageMemory::FindPage(std::uint64_t number) {
  if (const auto found = pages_.find(number); found != pages_.end()) return found->second.get();
  const std::uint64_t begin = number * kPageBytes;
  const bool module = begin >= kModuleBegin && begin < kModuleEnd;
  if (pages_.size() >= kMostPages) return nullptr;
  if (!module && !is_memory_(begin) && !is_memory_(begin + kPageBytes - 1)) return nullptr;
  auto page = std::make_unique_for_overwrite<Page>();
  store_.ReadPage(number, page->bytes.data(), page->known);
  if (pretend_) page->known.fill(~std::uint64_t{0});
  page->read = {};
  page->written = {};
  return pages_.emplace(number, std::move(page)).first->second.get();
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> PageMemory::Written() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [number, page] : pages_) {
    std::size_t at = 0;
    while ((at = FindBit(page->written, at, true)) < kPageBytes) {
      const std::size_t end = FindBit(page->written, at, false);
      ranges.emplace_back(number * kPageBytes + at, number * kPageBytes + end);
      at = end;
    }
  }
  std::ranges::sort(ranges);
  return ranges;
}

void PageMemory::Commit(value::Store& store) const {
  for (const auto& [begin, end] : Written()) {
    const Page& page = *pages_.at(begin / kPageBytes);
    store.Write(begin, page.bytes.data() + begin % kPageBytes, end - begin);
  }
}

}  // namespace eidolon::shim::compute
