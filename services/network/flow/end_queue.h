// Finds which of many things ends next: a 4-ary heap of times, whose entries can be moved when
// their end moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/base/sim_time.h"

namespace eidolon::network::flow {

// Things are numbers, each at most once in the queue. Invariants: no entry is earlier than its
// parent, and each thing knows its entry's position. Which of several at one time comes first
// follows from the calls and their order. Copyable; not thread safe.
class EndQueue {
 public:
  struct End {
    base::SimTime at;
    std::uint32_t id = 0;
  };

  // Numbers below `ids` are expected; larger ones make the queue grow.
  explicit EndQueue(std::uint32_t ids = 0) : positions_(ids, kAbsent) {}

  bool Empty() const { return ends_.empty(); }
  // The earliest. Requires: not Empty().
  const End& Front() const { return ends_.front(); }
  bool Contains(std::uint32_t id) const {
    return id < positions_.size() && positions_[id] != kAbsent;
  }
  // Enters it, or puts it where its end has moved to.
  void Put(std::uint32_t id, base::SimTime at);
  // Nothing happens when it is absent.
  void Remove(std::uint32_t id);

  std::size_t BytesUsed() const {
    return ends_.capacity() * sizeof(End) + positions_.capacity() * sizeof(positions_[0]);
  }

 private:
  static constexpr std::uint32_t kAbsent = ~std::uint32_t{0};

  void Up(std::uint32_t position);
  void Down(std::uint32_t position);

  std::vector<End> ends_;
  std::vector<std::uint32_t> positions_;  // By number.
};

}  // namespace eidolon::network::flow
