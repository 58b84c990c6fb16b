// Fixed pieces of work that tell how fast a core runs host code of a training framework now: one
// for what it does between two CUDA calls, one for arithmetic.
//
// What a framework does between two CUDA calls is neither a tight loop nor a stream of data: it
// jumps through an interpreter and a dispatcher, looks things up in hash tables, and takes and
// gives back small blocks of memory. The probe does the same in a code of some 100 KiB, more than
// the first-level caches hold, and always executes the same instructions. It is timed with the
// thread's processor time, so that pauses do not count.
//
// Numbers drawn on the host, a library's arithmetic, a tokenizer's loops run for milliseconds in a
// small code, whose speed follows the core's clock; a neighbour that fills the shared caches slows
// the probe and not them. Beside busy neighbours, the time of a million normal random numbers over
// that of the arithmetic stays within 3 % (10th to 90th percentile), over that of the probe within
// 17 %.
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

// Time of a run, its code being in the second-level cache, on the processor whose speed is defined
// as 1: an Intel Xeon Platinum 8480C at 3.8 GHz, which a DGX H100 has. It follows from the 52 us
// that were measured within running ranks on a Xeon 6972P, whose speed is 1.06 (cpu_model.cc of
// services/contract/cluster).
inline constexpr base::Duration kReferenceRun = base::Duration::Nanoseconds(55'000);

// Runs arithmetic on registers alone, some 20 us, and returns what was computed: always the same.
std::uint64_t RunArithmetic() noexcept;

// Time of the arithmetic on the same processor. It is a chain of multiplications of three cycles
// and of shifts and additions of one, 75,500 cycles on a Zen 5 whose clock was measured by a
// chain of multiplications; these latencies are the same on Zen 2 to 5 and from Sunny Cove to
// Redwood Cove (uops.info).
inline constexpr base::Duration kReferenceArithmetic = base::Duration::Nanoseconds(19'870);

// The median of `runs` runs of the probe on this core, by the calling thread's processor time.
// Requires: runs > 0.
base::Duration TimeProbe(int runs);

// The speeds that runs of this length tell, relative to that processor.
inline double SpeedOf(base::Duration run) noexcept {
  return static_cast<double>(kReferenceRun.ps) / static_cast<double>(run.ps);
}
inline double SpeedOfArithmetic(base::Duration run) noexcept {
  return static_cast<double>(kReferenceArithmetic.ps) / static_cast<double>(run.ps);
}

}  // namespace eidolon::host_speed
