// Identifies where a thread is in its program by a hash of its last few calls.
//
// Training loops repeat, and so do the sequences of calls that their operators make. Two stretches
// of host work between the same calls, after the same calls, are the same piece of program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace eidolon::shim::host_time {

// Histories are polynomials in this.
inline constexpr std::uint64_t kHistoryBase = 0x100000001b3u;
consteval std::uint64_t HistoryBaseTo(std::size_t exponent) {
  std::uint64_t power = 1;
  for (std::size_t i = 0; i < exponent; ++i) power *= kHistoryBase;
  return power;
}

// The last kLength calls of one thread. Not shared.
class CallHistory {
 public:
  static constexpr std::size_t kLength = 32;
  // Of a near place: fewer calls tell fewer places apart, and are sooner known.
  static constexpr std::size_t kNearLength = 8;

  // A call has ended: `call` names the function, `detail` what it was asked (the work that was
  // launched; 0: nothing that tells calls apart).
  void Push(std::uint64_t call, std::uint64_t detail) noexcept {
    const std::uint64_t coarse = Mix(call);
    const std::uint64_t fine = Mix(coarse ^ detail);
    Entry& oldest = last_[next_];
    const Entry& near = last_[(next_ + kLength - kNearLength) % kLength];
    fine_ = fine_ * kHistoryBase + fine - oldest.fine * HistoryBaseTo(kLength);
    near_ = near_ * kHistoryBase + fine - near.fine * HistoryBaseTo(kNearLength);
    coarse_ = coarse_ * kHistoryBase + coarse - near.coarse * HistoryBaseTo(kNearLength);
    oldest = {fine, coarse};
    next_ = (next_ + 1) % kLength;
  }

  // The place before a call of `call`. Places of the three kinds are never equal, and never 0.
  std::uint64_t PlaceBefore(std::uint64_t call) const noexcept {
    return Mix(fine_ ^ (call * kHistoryBase)) | 1;
  }
  // Returns the place by the last kNearLength calls.
  std::uint64_t NearPlaceBefore(std::uint64_t call) const noexcept {
    return (Mix(near_ ^ (call * kHistoryBase)) & ~std::uint64_t{3}) | 2;
  }
  // Returns the place by the last kNearLength calls without details: for programs whose launches
  // are new all the time.
  std::uint64_t CoarsePlaceBefore(std::uint64_t call) const noexcept {
    return (Mix(coarse_ ^ (call * kHistoryBase)) & ~std::uint64_t{3}) | 4;
  }

 private:
  struct Entry {
    std::uint64_t fine = 0, coarse = 0;
  };

  static constexpr std::uint64_t Mix(std::uint64_t x) noexcept {
    x = (x ^ (x >> 32)) * 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
  }

  std::array<Entry, kLength> last_{};
  std::size_t next_ = 0;
  // Polynomials in kHistoryBase of the entries, newest last.
  std::uint64_t fine_ = 0, near_ = 0, coarse_ = 0;
};

}  // namespace eidolon::shim::host_time
