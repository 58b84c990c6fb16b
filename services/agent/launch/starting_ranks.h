// Says whether ranks that have started, and have not introduced themselves yet, are at rest.
//
// A starting rank wakes threads of its own and waits for them in short slices, between which all of
// the server sleeps for a moment. Two looks that fall into such moments once took a job for one in
// which every process waits for ever. So a starting rank is at rest only after none of its threads
// has had a turn for a second. A process that has slices for ever, because it polls, is passed over
// after it has held the others up for some seconds in all.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace eidolon::agent::launch {

// This class is not thread-safe. Times are monotonic nanoseconds.
class StartingRanks {
 public:
  static constexpr std::int64_t kRestNs = 1'000'000'000;
  static constexpr std::int64_t kLongestDelayNs = 5'000'000'000;

  // `proc`: where the process file system is.
  explicit StartingRanks(std::string proc = "/proc") : proc_(std::move(proc)) {}

  // Looks at these processes, which are all that are starting. Returns whether each is at rest.
  bool AreAtRest(const std::vector<pid_t>& starting, std::int64_t now_ns);

 private:
  struct Seen {
    std::uint64_t slices = 0;
    std::int64_t since_ns = 0;  // Since then it has had these slices.
    std::int64_t last_ns = 0;   // The last look.
    std::int64_t delay_ns = 0;  // It has held the others up for so long.
  };
  // Returns how often its threads have run, and how many there are, as one number.
  std::uint64_t SlicesOf(pid_t process) const;

  std::string proc_;
  std::map<pid_t, Seen> seen_;
};

}  // namespace eidolon::agent::launch
