// A virtual sleep: a wait for a moment of virtual time, told to the agent over a connection of its
// own to agent.sock. Sleeps of processes without a segment, timers, and timed waits that something
// else may end as well (a signal of a condition, a byte in a pipe) wait so.
//
//   process --- Virtual sleep ---> agent        (instead of a Hello)
//   process <-- VirtualSleepEnd --- agent      when the moment has passed, or at once when it is
//   refused
//
// The moment passes when some rank's clock has, or when every process of the job waits and nothing
// earlier can happen. Unlike kWaitUntil of the ring, a virtual sleep promises nothing: whoever
// takes it may still act before its end. Hanging up ends a virtual sleep.
#pragma once

#include <cstdint>

namespace eidolon::ring {

inline constexpr std::uint64_t kVirtualSleepMagic = 0x3170614e6952645e;
// Clocks and moments end here (53 days): a wait for a later moment lasts as long as the job.
inline constexpr std::int64_t kEndOfTimePs = (std::int64_t{1} << 62) - (std::int64_t{1} << 50);

struct VirtualSleep {
  std::uint64_t magic;  // kVirtualSleepMagic
  std::uint32_t version;
  std::int32_t pid;
  // A rank names the moment. Others have no clock: they name a length, which begins at the latest
  // clock of a rank of their server.
  std::uint64_t moment_ps;  // 0: none, see length_ps.
  std::uint64_t length_ps;
  // Real time in which the moment does not pass for want of anything else to happen: what the
  // process waits for may come from outside the job.
  std::uint64_t patience_ns;
};

struct VirtualSleepEnd {
  std::uint64_t magic;   // kVirtualSleepMagic
  std::uint32_t passed;  // 0: refused, no virtual time runs (no rank of this server has begun).
  std::uint32_t reserved;
};

}  // namespace eidolon::ring
