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

}  // namespace

Page* PageMemory::FindPage(std::uint64_t number) {
  if (const auto found = pages_.find(number); found != pages_.end()) return found->second.get();
  const std::uint64_t begin = number * kPageBytes;
  const bool module = begin >= kModuleBegin && begin < kModuleEnd;
  if (pages_.size() >= kMostPages) return nullptr;
  if (!module && !arena_.holds(begin) && !arena_.holds(begin + kPageBytes - 1)) return nullptr;
  auto page = std::make_unique_for_overwrite<Page>();
  store_.ReadPage(number, page->bytes.data(), page->known);
  page->read = {};
  page->written = {};
  return pages_.emplace(number, std::move(page)).first->second.get();
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> PageMemory::Written() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [number, page] : pages_) {
    const std::uint64_t first = number * kPageBytes;
    ForEachRun(page->written, [&](std::size_t begin, std::size_t end) {
      ranges.emplace_back(first + begin, first + end);
    });
  }
  std::ranges::sort(ranges);
  return ranges;
}

void PageMemory::Commit(value::Store& store) const {
  std::uint64_t last_end = 0;
  for (const auto& [begin, end] : Written()) {
    const Page& page = *pages_.at(begin / kPageBytes);
    store.Write(begin, page.bytes.data() + begin % kPageBytes, end - begin);
    const bool continues = begin == last_end && begin % kPageBytes == 0;
    if (!continues) store.authors().Note({.author = value::kByOthers, .begin = begin});
    last_end = end;
  }
}

}  // namespace eidolon::shim::compute
