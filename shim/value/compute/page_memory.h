// The pages of known values as interpreted kernels see them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "services/machine_code/interpret/memory.h"
#include "shim/value/compute/footprint.h"
#include "shim/value/store.h"

namespace eidolon::shim::compute {

// Pages to be used again: a small launch takes less time than the allocator. Belongs to one thread
// at a time.
class PageStock {
 public:
  // Takes a page, whatever it holds.
  std::unique_ptr<interpret::Page> Take();
  // Keeps some, and frees the others.
  void Give(std::unique_ptr<interpret::Page> page);

 private:
  std::vector<std::unique_ptr<interpret::Page>> pages_;
};

// Puts results of a kernel into the store. `bytes`: of the ranges, one after another.
void WriteResults(std::span<const std::pair<std::uint64_t, std::uint64_t>> ranges,
                  const unsigned char* bytes, value::Store& store);

// Copies pages out of the store when they are first touched. Not thread safe. Outlived by the three
// it is given.
class PageMemory : public interpret::Memory {
 public:
  PageMemory(const value::Store& store, const Arena& arena, PageStock& stock)
      : store_(store), arena_(arena), stock_(stock) {}
  ~PageMemory() override;
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;

  interpret::Page* FindPage(std::uint64_t number) override;

  // Ranges [begin, end) that were written, or read, in order; each within a page.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> Written() const;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> Read() const;
  // Returns the bytes from the address on, to the end of its page. Requires: the page was touched.
  const unsigned char* BytesAt(std::uint64_t address) const;
  // True when it touched memory of the host, which the program may change at any time.
  bool reaches_host() const { return reaches_host_; }
  // Puts what was written into the store, and to the host.
  void Commit(value::Store& store) const;
  // The same of a launch that tracked unknown values. What it wrote of those is forgotten, as the
  // author's work.
  void CommitInPart(value::Author author, value::Store& store) const;
  // Ranges that were written, and are known or not.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> WrittenAnd(bool known) const;

 private:
  struct Entry {
    std::uint64_t number = 0;
    std::unique_ptr<interpret::Page> page;
  };

  interpret::Page* FindTouched(std::uint64_t number) const;
  // False: no byte of the page is memory of the host.
  bool ReadHostPage(std::uint64_t begin, interpret::Page& page);
  bool IsOnHost(std::uint64_t address) const {
    return reaches_host_ && arena_.find_host(address).has_value();
  }
  void CommitRanges(std::span<const std::pair<std::uint64_t, std::uint64_t>> ranges,
                    value::Store& store) const;
  // `bits_of(page)`: a bit for each byte.
  template <typename BitsOf>
  std::vector<std::pair<std::uint64_t, std::uint64_t>> RangesOf(BitsOf&& bits_of) const;

  const value::Store& store_;
  const Arena& arena_;
  PageStock& stock_;
  bool reaches_host_ = false;
  std::vector<Entry> pages_;  // As they were touched.
  // Positions in `pages_`; empty while these are so few that looking at each is quicker.
  std::unordered_map<std::uint64_t, std::size_t> index_;
};

}  // namespace eidolon::shim::compute
