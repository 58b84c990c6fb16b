// Decides when to look whether all processes of the job sleep, and what that says.
//
// A server is quiescent when nothing has happened for a moment and two looks, apart in real time,
// both found every thread asleep. Looks are rare while the answer stays the same, and any activity
// withdraws the claim.
#pragma once

#include <cstdint>
#include <functional>

namespace eidolon::agent::clock {

// Not thread safe. Times are monotonic nanoseconds.
class Quiescence {
 public:
  // `all_sleep` looks at the processes; it costs milliseconds.
  explicit Quiescence(std::function<bool()> all_sleep) : all_sleep_(std::move(all_sleep)) {}

  // A record, reply or message moved: whatever was claimed is void.
  void NoteActivity(std::int64_t now_ns);

  // Call often. Looks when it is time and returns the claim.
  bool Poll(std::int64_t now_ns);

 private:
  static constexpr std::int64_t kFirstLookNs = 10'000'000;
  static constexpr std::int64_t kSecondLookNs = 5'000'000;
  static constexpr std::int64_t kLongestPauseNs = 200'000'000;

  std::function<bool()> all_sleep_;
  std::int64_t next_look_ns_ = 0;
  std::int64_t pause_ns_ = kFirstLookNs;
  int asleep_looks_ = 0;
};

}  // namespace eidolon::agent::clock
