// Tells a yield that stands alone from those of a loop that spins.
//
// Libraries poll a condition and yield between two looks: PyTorch yields before it first asks
// whether a communicator is there. Beside many ranks on few cores one yield costs a whole turn of
// all others, tens of milliseconds, and thousands of groups cost minutes, although what is waited
// for is there already. A yield is a hint, so that the first of a row may do nothing; a loop that
// goes on spinning comes again at once and yields for real.
#pragma once

#include <cstdint>

namespace eidolon::shim::time {

// One for each thread; not thread safe.
class LoneYield {
 public:
  // A yield at `now_ns` of a monotonic clock: true when it is the first for a while.
  bool IsFirst(std::int64_t now_ns) {
    const bool is_first = now_ns - last_ns_ > kRowNs;
    last_ns_ = now_ns;
    return is_first;
  }

 private:
  static constexpr std::int64_t kRowNs = 50'000;  // Between two yields of one row.

  std::int64_t last_ns_ = -kRowNs - 1;
};

}  // namespace eidolon::shim::time
