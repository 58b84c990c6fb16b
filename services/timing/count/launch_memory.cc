#include "services/timing/count/launch_memory.h"

#include <cstring>

#include "services/contract/workload/pointer_tag.h"

namespace eidolon::timing::count {

std::string WithAddresses(std::string_view parameters) {
  constexpr std::uint64_t kMostRegions = 0x70;  // Those behind are for variables.
  std::string block(parameters);
  std::uint64_t region = 0;
  for (std::size_t at = 0; at + 8 <= block.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, block.data() + at, 8);
    if (!workload::IsBlankedPointer(word)) continue;
    region = region % kMostRegions + 1;
    word = (region << kRegionBits) + (std::uint64_t{1} << (kRegionBits - 1)) + (word & 0xff);
    std::memcpy(block.data() + at, &word, 8);
  }
  return block;
}

interpret::Page* LaunchMemory::FindPage(std::uint64_t number) {
  const auto found = pages_.find(number);
  if (found != pages_.end()) return found->second.get();
  auto& page = pages_.size() < kMostPages ? pages_[number] : shared_[number % kShared];
  if (page == nullptr) {
    page = std::make_unique_for_overwrite<interpret::Page>();
    page->bytes.fill(content_);
    page->known.fill(~std::uint64_t{0});
    page->read.fill(0);
    page->written.fill(0);
  }
  return page.get();
}

}  // namespace eidolon::timing::count
