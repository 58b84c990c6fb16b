// Interning of work definitions: equal bytes get the same identifier, so that a launch is 24 bytes.
// Open addressing over 64-bit hashes; every hit compares all bytes. Definitions are never dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace eidolon::shim::core {

// Not thread safe: its owner locks.
class WorkTable {
 public:
  WorkTable();

  // The identifier of equal bytes inserted before, or 0. Requires: hash == base::Hash64 of the
  // bytes.
  std::uint32_t Find(std::uint64_t hash, std::span<const std::byte> definition) const noexcept;
  // Requires: Find(...) == 0; id != 0.
  void Insert(std::uint64_t hash, std::span<const std::byte> definition, std::uint32_t id);

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
