#include "shim/core/work_table.h"

#include <algorithm>

namespace eidolon::shim::core {
namespace {

constexpr std::size_t kFirstEntries = 1024;
constexpr std::size_t kBlockBytes = 256 << 10;

}  // namespace

WorkTable::WorkTable() : entries_(kFirstEntries) {}

InternedWork WorkTable::Find(std::uint64_t hash,
                             std::span<const std::byte> definition) const noexcept {
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Entry& entry = entries_[at];
    if (entry.id == 0) return {};
    if (entry.hash == hash && entry.size == definition.size() &&
        std::memcmp(entry.bytes, definition.data(), definition.size()) == 0) {
      return {entry.id, entry.bytes};
    }
  }
}

InternedWork WorkTable::Insert(std::uint64_t hash, std::span<const std::byte> definition,
                               std::uint32_t id) {
  if ((count_ + 1) * 2 > entries_.size()) Grow();
  const std::size_t mask = entries_.size() - 1;
  std::size_t at = hash & mask;
  while (entries_[at].id != 0) at = (at + 1) & mask;
  entries_[at] = {hash, Keep(definition), static_cast<std::uint32_t>(definition.size()), id};
  ++count_;
  return {id, entries_[at].bytes};
}

std::span<const std::byte> WorkTable::Definition(std::uint32_t id) const noexcept {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.id == id; });
  if (id == 0 || found == entries_.end()) return {};
  return {found->bytes, found->size};
}

const std::byte* WorkTable::Keep(std::span<const std::byte> bytes) {
  if (bytes.size() > block_left_) {
    const std::size_t size = std::max(kBlockBytes, bytes.size());
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    block_next_ = blocks_.back().get();
    block_left_ = size;
  }
  std::byte* kept = block_next_;
  std::copy(bytes.begin(), bytes.end(), kept);
  block_next_ += bytes.size();
  block_left_ -= bytes.size();
  return kept;
}

void WorkTable::Grow() {
  std::vector<Entry> old(entries_.size() * 2);
  old.swap(entries_);
  const std::size_t mask = entries_.size() - 1;
  for (const Entry& entry : old) {
    if (entry.id == 0) continue;
    std::size_t at = entry.hash & mask;
    while (entries_[at].id != 0) at = (at + 1) & mask;
    entries_[at] = entry;
  }
}

}  // namespace eidolon::shim::core
