// A fixed piece of work that tells how fast a core runs host code of a training framework now.
//
// What a framework does between two CUDA calls is neither a tight loop nor a stream of data: it
// jumps through an interpreter and a dispatcher, looks things up in hash tables, and takes and
// gives back small blocks of memory. The probe does the same in a code of some 100 KiB, more than
// the first-level caches hold, and always executes the same instructions. It is timed with the
// thread's processor time, so that pauses do not count.
#pragma once

#include <cstdint>
#include <memory>

#include "services/base/sim_time.h"

namespace eidolon::host_speed {

// The probe and the 97 KiB that it works on. Not shared between threads.
class Probe {
 public:
  Probe();
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // Runs once, some 50 us, and returns what was computed: the same in every run of every process.
  std::uint64_t Run() noexcept;
  // Memory for the work was had.
  explicit operator bool() const noexcept { return world_ != nullptr; }

 private:
  struct World;
  struct Dispatch;
  std::unique_ptr<World> world_;
};

// What a run takes, its code being in the second-level cache, on the processor whose speed is
// called 1: an Intel Xeon Platinum 8480C at 3.8 GHz, which a DGX H100 has. It follows from the 52
// us that were measured within running ranks on a Xeon 6972P, whose speed is 1.06 (cpu_model.cc of
// services/cluster).
inline constexpr base::Duration kReferenceRun = base::Duration::Nanoseconds(55'000);

// The median of `runs` runs on this core, by the calling thread's processor time. Requires: runs
// > 0.
base::Duration TimeProbe(int runs);

// The speed that a run of this length tells, relative to that processor.
inline double SpeedOf(base::Duration run) noexcept {
  return static_cast<double>(kReferenceRun.ps) / static_cast<double>(run.ps);
}

}  // namespace eidolon::host_speed
