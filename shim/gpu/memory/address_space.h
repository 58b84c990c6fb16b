// A range of addresses handed out in pieces: lowest fit first, so that equal programs get equal
// addresses.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace eidolon::shim::gpu {

// This class is not thread-safe: its owner locks. Sizes and alignments are in bytes.
class AddressSpace {
 public:
  AddressSpace() = default;
  AddressSpace(std::uint64_t begin, std::uint64_t bytes) { free_[begin] = bytes; }

  // The lowest aligned free range of `bytes`. Requires: bytes > 0, alignment a power of two.
  std::optional<std::uint64_t> Take(std::uint64_t bytes, std::uint64_t alignment);
  // Exactly this range, if it is free.
  bool TakeAt(std::uint64_t begin, std::uint64_t bytes);
  // Requires: the range was taken.
  void GiveBack(std::uint64_t begin, std::uint64_t bytes);

 private:
  using Free = std::map<std::uint64_t, std::uint64_t>;
  void Cut(Free::iterator range, std::uint64_t begin, std::uint64_t bytes);

  Free free_;  // Begin to bytes; neighbours are merged.
};

}  // namespace eidolon::shim::gpu
