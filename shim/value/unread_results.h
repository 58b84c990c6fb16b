// Results that nobody has read yet, of work that can be done at any time: it needs no memory. A
// program fills its weights with random numbers, and mostly nobody looks at them before they are
// overwritten by what nobody knows.
//
// Each result has a range of bytes that it may write. What is written there later, by whomever, is
// taken out of it; the first to read a byte of what is left has it computed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "shim/value/range_set.h"

namespace eidolon::shim::value {

class UnreadResult {
 public:
  // Bytes of the result, in any order; each once.
  using Give =
      std::function<void(std::uint64_t address, const unsigned char* bytes, std::uint64_t size)>;

  virtual ~UnreadResult() = default;
  // Called once at most, by any thread. False: it is not to be had; nothing was given.
  virtual bool Compute(const Give& give) = 0;
};

// Thread safe. Ranges are [begin, end).
class UnreadResults {
 public:
  // A program that looks at none of its results has no more than so many ranges of them.
  static constexpr std::size_t kMost = 4096;

  // Takes over the bytes of the range from earlier results. False: there are too many, and the
  // result was not kept.
  bool Add(std::uint64_t begin, std::uint64_t end, std::shared_ptr<UnreadResult> result);
  // Something else stands there from now on.
  void Remove(std::uint64_t begin, std::uint64_t end);

  // False when surely no byte of the range is one of an unread result. Quick.
  bool MayHold(std::uint64_t begin, std::uint64_t end) const {
    return begin < end_.load(std::memory_order_acquire) &&
           begin_.load(std::memory_order_acquire) < end;
  }
  bool Holds(std::uint64_t begin, std::uint64_t end) const;
  // Returns where the range that holds the address ends; 0 when none does.
  std::uint64_t EndOf(std::uint64_t address) const;

  // Computes all results with a byte in the range. `give` gets bytes that were not written since;
  // `lose` the ranges of those that are not to be had. Whoever asks meanwhile waits.
  void Compute(std::uint64_t begin, std::uint64_t end, const UnreadResult::Give& give,
               const std::function<void(std::uint64_t begin, std::uint64_t end)>& lose);

 private:
  struct Part {
    std::uint64_t end = 0;
    std::shared_ptr<UnreadResult> result;
  };
  using Parts = std::map<std::uint64_t, Part>;

  // The first part that ends behind the address.
  Parts::const_iterator First(std::uint64_t address) const;
  void RemoveLocked(std::uint64_t begin, std::uint64_t end);
  // All parts of one result.
  RangeSet TakeLocked(const UnreadResult* result);
  void NoteBounds();

  mutable std::mutex mutex_;  // Guards `parts_`; held while a result is computed.
  Parts parts_;               // By their begin; none overlap.
  // Around all parts; empty when there are none.
  std::atomic<std::uint64_t> begin_{0};
  std::atomic<std::uint64_t> end_{0};
};

}  // namespace eidolon::shim::value
