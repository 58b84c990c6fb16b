// A launch's parameters as data: which of its words lead into emulated memory, and what lies there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace eidolon::shim::compute {

// Emulated memory as this folder sees it.
struct Arena {
  using Range = std::pair<std::uint64_t, std::uint64_t>;  // [begin, end)
  // No address in it is lower: most words of a parameter block are small numbers.
  std::uint64_t begin = 0;
  // True when an address may lie in it.
  bool (*holds)(std::uint64_t address) = nullptr;
  // The live allocation around an address, mapped neighbours included.
  std::optional<Range> (*find_buffer)(std::uint64_t address) = nullptr;
  // Memory of the host that kernels reach, around an address; its bytes are there. Null: none.
  std::optional<Range> (*find_host)(std::uint64_t address) = nullptr;
  // Another number whenever what find_buffer answers may have changed.
  std::uint64_t (*version)() = nullptr;
};

// A word of a parameter block that points into emulated memory.
struct PointerWord {
  std::uint32_t at;  // Offset in the block.
  std::uint64_t address;
};

// A launch as data: its words that may be pointers, in order.
struct LaunchPointers {
  // Finds them by their values.
  LaunchPointers(std::span<const std::byte> parameters, const Arena& arena);
  // Looks at those that somebody found and keeps.
  explicit LaunchPointers(std::span<const PointerWord> found) : list(found) {}
  LaunchPointers(const LaunchPointers&) = delete;
  LaunchPointers& operator=(const LaunchPointers&) = delete;

  std::vector<std::uint32_t> Places() const;  // In the parameter block.

 private:
  std::vector<PointerWord> owned_;

 public:
  std::span<const PointerWord> list;
};

}  // namespace eidolon::shim::compute
