// Interning of work definitions: equal bytes get the same identifier, so that a launch is 24 bytes.
// Open addressing over 64-bit hashes; every hit compares all bytes. Definitions are never dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "shim/core/intern_work.h"

namespace eidolon::shim::core {

// This class is not thread-safe: its owner locks.
class WorkTable {
 public:
  WorkTable();

  // Equal bytes that were inserted before, or none. Requires: hash == base::Hash64 of the bytes.
  InternedWork Find(std::uint64_t hash, std::span<const std::byte> definition) const noexcept;
  // Requires: Find(...) found none; id != 0.
  InternedWork Insert(std::uint64_t hash, std::span<const std::byte> definition, std::uint32_t id);

  // The bytes of the definition with this identifier, empty when there is none. Looks at all of
  // them.
  std::span<const std::byte> Definition(std::uint32_t id) const noexcept;

  std::size_t size() const noexcept { return count_; }

 private:
  struct Entry {
    std::uint64_t hash = 0;
    const std::byte* bytes = nullptr;
    std::uint32_t size = 0;
    std::uint32_t id = 0;  // 0: empty.
  };

  const std::byte* Keep(std::span<const std::byte> bytes);
  void Grow();

  std::vector<Entry> entries_;  // A power of two, at most half full.
  std::size_t count_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::size_t block_left_ = 0;
  std::byte* block_next_ = nullptr;
};

}  // namespace eidolon::shim::core
