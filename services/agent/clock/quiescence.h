// Decides when to look whether all processes of the job sleep, and what that says.
//
// A server is quiescent when nothing has happened for a moment and two looks, apart in real time,
// both found every thread asleep. It stays so while later looks find at most threads that poll: on
// a loaded machine some poller nearly always waits for a processor. Looks are rare while the answer
// stays the same, and any activity withdraws the claim, also such as arrived during a look.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "services/base/clock.h"

namespace eidolon::agent::clock {

// Result of a look at the processes.
enum class Look : std::uint8_t {
  kStill,    // All threads sleep.
  kPolling,  // Some run for a moment.
  kWorking,
};

// This class is not thread-safe. Times are monotonic nanoseconds.
class Quiescence {
 public:
  // `look` looks at the processes; it costs milliseconds. `has_news` tells whether anything has
  // been written that was not read yet. `spent_ns`: processor time of this thread.
  Quiescence(std::function<Look()> look, std::function<bool()> has_news,
             std::function<std::int64_t()> spent_ns = base::ThreadCpuNs)
      : look_(std::move(look)), has_news_(std::move(has_news)), spent_ns_(std::move(spent_ns)) {}

  // A record, reply or message moved: whatever was claimed is void.
  void NoteActivity(std::int64_t now_ns);

  // Call often. Looks when it is time and returns the claim. `everyone_asks`: each process is known
  // to wait for an answer, so that the first look need not be put off.
  bool Poll(std::int64_t now_ns, bool everyone_asks = false);

 private:
  static constexpr std::int64_t kFirstLookNs = 10'000'000;
  static constexpr std::int64_t kEarlyLookNs = 1'000'000;
  static constexpr std::int64_t kSecondLookNs = 5'000'000;
  static constexpr std::int64_t kLongestPauseNs = 200'000'000;
  // Looks after activity take no more than a tenth of a processor, unless that would be too late,
  // and come later from time to time as long as none of them leads to a claim: a server of a job
  // whose ranks wait for each other's work alone shall not spend its time on looking.
  static constexpr std::int64_t kPausesPerLook = 9;
  static constexpr std::int64_t kLongestFirstPauseNs = 100'000'000;

  bool Judge(std::int64_t now_ns, bool everyone_asks);
  std::int64_t FirstPauseNs() const {
    const std::int64_t pause = std::max(kPausesPerLook * last_look_ns_, kFirstLookNs);
    return std::min(pause << std::max(0, vain_looks_ - 1), kLongestFirstPauseNs);
  }

  std::function<Look()> look_;
  std::function<bool()> has_news_;
  std::function<std::int64_t()> spent_ns_;
  std::int64_t last_look_ns_ = 0;  // Processor time of the last look.
  std::int64_t active_ns_ = 0;     // The last activity.
  bool has_looked_ = false;        // Since then.
  std::int64_t next_look_ns_ = 0;
  std::int64_t pause_ns_ = kFirstLookNs;
  int still_looks_ = 0;
  int vain_looks_ = 0;         // In a row, that activity followed instead of a claim.
  bool looked_again_ = false;  // At once, after a look that found somebody polling.
};

}  // namespace eidolon::agent::clock
