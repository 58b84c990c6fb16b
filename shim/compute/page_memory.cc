#include "shim/compute/page_memory.h"

#include <algorithm>

#include "shim/compute/machine_code.h"
#include "shim/compute/page_bits.h"

namespace eidolon::shim::compute {
namespace {

using interpret::kPageBytes;
using interpret::Page;

static_assert(kPageBytes == value::Store::kPageBytes);

constexpr std::size_t kMostPages = 8192;
constexpr std::size_t kMostInStock = 64;
constexpr std::size_t kMostWithoutIndex = 8;

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
  if (!module && !arena_.holds(begin) && !arena_.holds(begin + kPageBytes - 1)) return nullptr;
  auto page = stock_.Take();
  store_.ReadPage(number, page->bytes.data(), page->known);
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

std::vector<std::pair<std::uint64_t, std::uint64_t>> PageMemory::Written() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const Entry& entry : pages_) {
    const std::uint64_t first = entry.number * kPageBytes;
    ForEachRun(entry.page->written, [&](std::size_t begin, std::size_t end) {
      ranges.emplace_back(first + begin, first + end);
    });
  }
  std::ranges::sort(ranges);
  return ranges;
}

void PageMemory::Commit(value::Store& store) const {
  std::uint64_t last_end = 0;
  for (const auto& [begin, end] : Written()) {
    const Page& page = *FindTouched(begin / kPageBytes);
    store.Write(begin, page.bytes.data() + begin % kPageBytes, end - begin);
    const bool continues = begin == last_end && begin % kPageBytes == 0;
    if (!continues) store.authors().Note({.author = value::kByOthers, .begin = begin});
    last_end = end;
  }
}

}  // namespace eidolon::shim::compute
