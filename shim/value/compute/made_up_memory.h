// Memory for a kernel whose inputs are unknown: it holds made-up values at every address, and
// pointers that lead into windows of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>

#include "services/machine_code/interpret/memory.h"
#include "shim/value/compute/machine_code.h"
#include "shim/value/store.h"

namespace eidolon::shim::compute {

// Windows of made-up addresses, one for each pointer; the pointer is in the middle of its own.
inline constexpr unsigned kWindowBits = 36;
inline constexpr std::uint64_t kMiddle = std::uint64_t{1} << (kWindowBits - 1);
// Kernels ask how pointers are aligned.
inline constexpr std::uint64_t kKeptLowBits = interpret::kPageBytes - 1;

constexpr std::uint64_t WindowBase(std::size_t pointer) {
  return ((std::uint64_t{pointer} + 1) << kWindowBits) + kMiddle;
}

// Memory that holds made-up values wherever a kernel looks.
class MadeUpMemory : public interpret::Memory {
 public:
  // `pattern`: eight bytes that repeat. `saw_variables`: set when a variable of a module is looked
  // at; may be null.
  MadeUpMemory(const value::Store& store, std::uint64_t pattern, bool* saw_variables = nullptr)
      : store_(store), pattern_(pattern), saw_variables_(saw_variables) {}

  interpret::Page* FindPage(std::uint64_t number) override {
    constexpr std::size_t kMostPages = 8192;
    std::unique_ptr<interpret::Page>& page = pages_[number];
    if (page != nullptr) return page.get();
    if (pages_.size() > kMostPages) return nullptr;
    page = std::make_unique_for_overwrite<interpret::Page>();
    const std::uint64_t address = number * interpret::kPageBytes;
    if (address >= kModuleBegin && address < kModuleEnd) {
      if (saw_variables_ != nullptr) *saw_variables_ = true;
      store_.ReadPage(number, page->bytes.data(), page->known);
    } else {
      for (std::size_t i = 0; i < interpret::kPageBytes; i += 8) {
        std::memcpy(page->bytes.data() + i, &pattern_, 8);
      }
    }
    page->known.fill(~std::uint64_t{0});
    page->read = {};
    page->written = {};
    return page.get();
  }

  // Calls body(page address, page) in order of addresses.
  template <typename Body>
  void ForEachPage(Body&& body) const {
    for (const auto& [number, page] : pages_) {
      if (page != nullptr) body(number * interpret::kPageBytes, *page);
    }
  }

 private:
  const value::Store& store_;
  const std::uint64_t pattern_;
  bool* const saw_variables_;
  std::map<std::uint64_t, std::unique_ptr<interpret::Page>> pages_;
};

}  // namespace eidolon::shim::compute
