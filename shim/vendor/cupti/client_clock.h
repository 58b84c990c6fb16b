// The clock in which the program wants the times of its records: the wall clock, which is virtual
// inside a job, or a function of its own (cuptiActivityRegisterTimestampCallback).
#pragma once

#include <cupti.h>

#include <cstdint>
#include <mutex>

namespace eidolon::shim::cupti {

// The wall clock of this process when the rank clock shows `ps`, in nanoseconds.
std::uint64_t WallNs(std::uint64_t rank_ps);

// A function is taken to be linear in the wall clock from its registration to the last Refresh. One
// that shows the wall clock itself gives times to the nanosecond. All threads.
class ClientClock {
 public:
  void Register(CUpti_TimestampCallbackFunc function);
  // The function is linear from now on, not from its registration on.
  void Restart();
  // Compares both clocks again; before times are converted.
  void Refresh();
  std::uint64_t Now();
  std::uint64_t FromRank(std::uint64_t rank_ps);

 private:
  struct Pair {
    std::int64_t wall_ns = 0;
    std::int64_t own = 0;
  };
  Pair Compare() const;

  std::mutex mutex_;
  CUpti_TimestampCallbackFunc function_ = nullptr;
  Pair begin_;
  double slope_ = 1;
};

}  // namespace eidolon::shim::cupti
