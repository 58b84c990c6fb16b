// The memory that a counted launch sees: nobody knows what lies there, so every byte reads as the
// same one until the kernel writes another. Each pointer of the launch leads to a region of its
// own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "services/machine_code/interpret/memory.h"

namespace eidolon::timing::count {

inline constexpr unsigned kRegionBits = 40;  // A region's bytes.

// The region of an address; pointers lie in the middle of theirs, which are numbered from 1 on.
constexpr std::uint64_t RegionOf(std::uint64_t address) { return address >> kRegionBits; }

// A launch's parameter block with addresses in the place of blanked pointers
// (workload/pointer_tag.h), as well aligned as those were.
std::string WithAddresses(std::string_view parameters);

// Memory of one thread. Beyond a limit pages share their memory with others: a block that walks
// down the columns of a large matrix touches a page of each row, and what they hold is not known
// anyway.
class LaunchMemory : public interpret::Memory {
 public:
  explicit LaunchMemory(std::byte content) : content_(content) {}

  interpret::Page* FindPage(std::uint64_t number) override;

 private:
  static constexpr std::size_t kMostPages = 8192;
  static constexpr std::size_t kShared = 64;

  const std::byte content_;
  std::unordered_map<std::uint64_t, std::unique_ptr<interpret::Page>> pages_;
  std::array<std::unique_ptr<interpret::Page>, kShared> shared_;  // By the page's number.
};

}  // namespace eidolon::timing::count
