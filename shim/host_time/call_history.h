// Where a thread is in its program, as far as its calls tell: a hash of the last few of them.
//
// Training loops repeat, and so do the sequences of calls that their operators make. Two stretches
// of host work between the same calls, after the same calls, are the same piece of program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace eidolon::shim::host_time {

// The last kLength calls of one thread. Not shared.
class CallHistory {
 public:
  static constexpr std::size_t kLength = 8;

  // A call has ended: `call` names the function, `detail` what it was asked (the work that was
  // launched; 0: nothing that tells calls apart).
  void Push(std::uint64_t call, std::uint64_t detail) noexcept {
    const std::uint64_t coarse = Mix(call);
    const std::uint64_t fine = Mix(coarse ^ detail);
    Entry& oldest = last_[next_];
    fine_ = fine_ * kBase + fine - oldest.fine * kOldest;
    coarse_ = coarse_ * kBase + coarse - oldest.coarse * kOldest;
    oldest = {fine, coarse};
    next_ = (next_ + 1) % kLength;
  }

  // The place before a call of `call`; never 0.
  std::uint64_t PlaceBefore(std::uint64_t call) const noexcept {
    return Mix(fine_ ^ (call * kBase)) | 1;
  }
  // The same without details: for programs whose launches are new all the time. Never equal to the
  // other kind, as it is even.
  std::uint64_t CoarsePlaceBefore(std::uint64_t call) const noexcept {
    return (Mix(coarse_ ^ (call * kBase)) | 2) & ~std::uint64_t{1};
  }

 private:
  struct Entry {
    std::uint64_t fine = 0, coarse = 0;
  };
  static constexpr std::uint64_t kBase = 0x100000001b3u;
  // kBase to the power of kLength.
  static constexpr std::uint64_t kOldest = [] {
    std::uint64_t power = 1;
    for (std::size_t i = 0; i < kLength; ++i) power *= kBase;
    return power;
  }();

  static constexpr std::uint64_t Mix(std::uint64_t x) noexcept {
    x = (x ^ (x >> 32)) * 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
  }

  std::array<Entry, kLength> last_{};
  std::size_t next_ = 0;
  std::uint64_t fine_ = 0, coarse_ = 0;  // Polynomials in kBase of the entries, newest last.
};

}  // namespace eidolon::shim::host_time
