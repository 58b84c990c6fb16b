// What one emulated GPU did lately, for the sensors that a program reads through NVML: energy, time
// in which it was busy, traffic of its memory and its clock, in buckets of 2^30 ps.
//
// It follows the local timeline (contention.h), as power does, so that a reading is a function of
// the program alone. Once all work has ended, as after a synchronization, energy is exact; in
// between it is as fine as a bucket.
#pragma once

#include <cstdint>
#include <map>

#include "services/base/sim_time.h"

namespace eidolon::agent::device {

// A span in which one operation runs.
struct Load {
  base::SimTime start;
  base::SimTime end;
  std::uint64_t microjoules = 0;  // Above the floor of the GPU's power.
  std::uint32_t memory = 0;       // Share of the memory's bandwidth, in 1/1024.
  std::int64_t clock = 1024;      // Over that of bursts, in 1/1024.
};

// One device of one process; no threads.
class LoadHistory {
 public:
  LoadHistory() = default;
  LoadHistory(const LoadHistory&) = delete;
  LoadHistory& operator=(const LoadHistory&) = delete;

  // `issued`: host clock of the call. What lies far behind it is forgotten.
  void Add(const Load& load, base::SimTime issued);

  bool IsEmpty() const { return total_.microjoules == 0 && total_.busy_ps == 0; }

  struct Sum {
    std::uint64_t microjoules = 0;
    std::int64_t busy_ps = 0;    // Some operation runs.
    std::int64_t memory_ps = 0;  // The same, by the share of the bandwidth.
    std::int64_t slowed_ps = 0;  // Some operation runs below the clock of bursts.
  };
  // Returns the sum of all work before `time`. It does not fall from one answer to that for a later
  // time, although work that comes in between is placed only to a bucket.
  Sum Before(base::SimTime time) const;
  // Returns the clock at that time, in 1/1024. Some 43 ms after the last work it is that of bursts.
  std::int64_t ClockAt(base::SimTime time) const;

 private:
  struct Bucket {
    Sum sum;
    base::SimTime begin;  // Of its work, within the bucket...
    base::SimTime end;    // ...and its end.
    std::int64_t clock = 1024;
  };
  Bucket& At(std::int64_t number, base::SimTime issued);
  Sum Find(base::SimTime time) const;

  std::map<std::int64_t, Bucket> buckets_;  // By number.
  Bucket* last_ = nullptr;                  // The one that was written last...
  std::int64_t last_number_ = 0;            // ...and its number.
  Sum total_;
  base::SimTime end_;  // Of the latest work.
  // The answer for the latest time so far.
  mutable base::SimTime answered_;
  mutable Sum answer_;
};

}  // namespace eidolon::agent::device
