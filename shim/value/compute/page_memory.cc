// A kernel runs on copies of the pages that it touches, and the store sees its writes only in
// Commit. A launch that stops half way (an unknown input, a limit, a fault) thereby leaves no
// trace, and can be tried again once a missing value was provided. The number of pages bounds the
// memory of one launch at 32 MiB; a kernel that touches more faults. Small launches are the common
// case: they find their pages by a linear search, and take them from a stock instead of from the
// allocator.
//
// Pinned and managed memory of the host is known wherever a kernel looks, and what a kernel writes
// there is the host's own. Nobody can mark a byte of it as unknown: of what a kernel computed from
// unknown bytes, the host keeps what it had.
#include "shim/value/compute/page_memory.h"

#include <algorithm>
#include <cstring>

#include "shim/value/compute/machine_code.h"
#include "shim/value/compute/page_bits.h"

namespace eidolon::shim::compute {
namespace {

using interpret::kPageBytes;
using interpret::Page;

static_assert(kPageBytes == value::Store::kPageBytes);

constexpr std::size_t kMostPages = 8192;
constexpr std::size_t kMostInStock = 64;
constexpr std::size_t kMostWithoutIndex = 8;

// Writes ranges in order, and says of each buffer that no kernel is to blame for what is unknown.
class ResultWriter {
 public:
  explicit ResultWriter(value::Store& store) : store_(store) {}

  // Writes within a page.
  void Write(std::uint64_t begin, const unsigned char* bytes, std::size_t size) {
    store_.Write(begin, bytes, size);
    const bool continues = begin == last_end_ && begin % kPageBytes == 0;
    if (!continues) store_.authors().Note({.author = value::kByOthers, .begin = begin});
    last_end_ = begin + size;
  }

 private:
  value::Store& store_;
  std::uint64_t last_end_ = 0;
};

}  // namespace

std::unique_ptr<Page> PageStock::Take() {
  if (pages_.empty()) return std::make_unique_for_overwrite<Page>();
  std::unique_ptr<Page> page = std::move(pages_.back());
  pages_.pop_back();
  return page;
}

void PageStock::Give(std::unique_ptr<Page> page) {
  if (pages_.size() < kMostInStock) pages_.push_back(std::move(page));
}

PageMemory::~PageMemory() {
  for (Entry& entry : pages_) stock_.Give(std::move(entry.page));
}

Page* PageMemory::FindTouched(std::uint64_t number) const {
  if (index_.empty()) {
    const auto found = std::ranges::find(pages_, number, &Entry::number);
    return found == pages_.end() ? nullptr : found->page.get();
  }
  const auto found = index_.find(number);
  return found == index_.end() ? nullptr : pages_[found->second].page.get();
}

Page* PageMemory::FindPage(std::uint64_t number) {
  if (Page* const touched = FindTouched(number)) return touched;
  const std::uint64_t begin = number * kPageBytes;
  const bool module = begin >= kModuleBegin && begin < kModuleEnd;
  if (pages_.size() >= kMostPages) return nullptr;
  const bool held = module || arena_.holds(begin) || arena_.holds(begin + kPageBytes - 1);
  if (!held && arena_.find_host == nullptr) return nullptr;
  auto page = stock_.Take();
  if (held) {
    store_.ReadPage(number, page->bytes.data(), page->known);
  } else if (!ReadHostPage(begin, *page)) {
    stock_.Give(std::move(page));
    return nullptr;
  }
  page->read = {};
  page->written = {};
  pages_.push_back({number, std::move(page)});
  if (!index_.empty()) {
    index_.emplace(number, pages_.size() - 1);
  } else if (pages_.size() > kMostWithoutIndex) {
    for (std::size_t i = 0; i < pages_.size(); ++i) index_.emplace(pages_[i].number, i);
  }
  return pages_.back().page.get();
}

bool PageMemory::ReadHostPage(std::uint64_t begin, Page& page) {
  page.bytes.fill(std::byte{});
  page.known = {};
  bool found = false;
  // Ranges that lie within a page and touch neither end of it are not seen.
  for (const std::uint64_t address : {begin, begin + kPageBytes - 1}) {
    const auto range = arena_.find_host(address);
    if (!range) continue;
    found = true;
    const std::uint64_t first = std::max(begin, range->first);
    const std::uint64_t last = std::min(begin + kPageBytes, range->second);
    std::memcpy(page.bytes.data() + (first - begin), reinterpret_cast<const void*>(first),
                last - first);
    for (std::uint64_t at = first - begin; at < last - begin; ++at) {
      page.known[at / 64] |= std::uint64_t{1} << at % 64;
    }
  }
  reaches_host_ = reaches_host_ || found;
  return found;
}

template <typename BitsOf>
std::vector<std::pair<std::uint64_t, std::uint64_t>> PageMemory::RangesOf(BitsOf&& bits_of) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const Entry& entry : pages_) {
    const std::uint64_t first = entry.number * kPageBytes;
    ForEachRun(bits_of(*entry.page), [&](std::size_t begin, std::size_t end) {
      ranges.emplace_back(first + begin, first + end);
    });
  }
  std::ranges::sort(ranges);
  return ranges;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> PageMemory::Written() const {
  return RangesOf([](const Page& page) -> const interpret::PageBits& { return page.written; });
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> PageMemory::Read() const {
  return RangesOf([](const Page& page) -> const interpret::PageBits& { return page.read; });
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> PageMemory::WrittenAnd(bool known) const {
  return RangesOf([known](const Page& page) {
    interpret::PageBits bits = page.written;
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] &= known ? page.known[i] : ~page.known[i];
    return bits;
  });
}

const unsigned char* PageMemory::BytesAt(std::uint64_t address) const {
  const Page& page = *FindTouched(address / kPageBytes);
  return reinterpret_cast<const unsigned char*>(page.bytes.data()) + address % kPageBytes;
}

void PageMemory::Commit(value::Store& store) const { CommitRanges(Written(), store); }

void PageMemory::CommitRanges(std::span<const std::pair<std::uint64_t, std::uint64_t>> ranges,
                              value::Store& store) const {
  ResultWriter writer(store);
  for (const auto& [begin, end] : ranges) {
    if (IsOnHost(begin)) {
      std::memcpy(reinterpret_cast<void*>(begin), BytesAt(begin), end - begin);
    } else {
      writer.Write(begin, BytesAt(begin), end - begin);
    }
  }
}

void PageMemory::CommitInPart(value::Author author, value::Store& store) const {
  CommitRanges(WrittenAnd(true), store);
  for (const auto& [begin, end] : WrittenAnd(false)) {
    if (!IsOnHost(begin)) store.Forget(begin, end - begin, author);
  }
}

void WriteResults(std::span<const std::pair<std::uint64_t, std::uint64_t>> ranges,
                  const unsigned char* bytes, value::Store& store) {
  ResultWriter writer(store);
  for (const auto& [begin, end] : ranges) {
    writer.Write(begin, bytes, end - begin);
    bytes += end - begin;
  }
}

}  // namespace eidolon::shim::compute
