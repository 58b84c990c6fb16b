// The pages of known values as interpreted kernels see them.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "services/interpret/memory.h"
#include "shim/compute/footprint.h"
#include "shim/value/store.h"

namespace eidolon::shim::compute {

// Copies pages out of the store when they are first touched. Not thread safe.
class PageMemory : public interpret::Memory {
 public:
  PageMemory(const value::Store& store, const Arena& arena) : store_(store), arena_(arena) {}

  interpret::Page* FindPage(std::uint64_t number) override;

  // Ranges [begin, end) that were written, in order.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> Written() const;
  // Puts what was written into the store.
  void Commit(value::Store& store) const;

 private:
  const value::Store& store_;
  const Arena& arena_;
  std::unordered_map<std::uint64_t, std::unique_ptr<interpret::Page>> pages_;
};

}  // namespace eidolon::shim::compute
