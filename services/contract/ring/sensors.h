// Readings of an emulated GPU's sensors: the payload of the answer to a kSensors question, which
// the shim asks for a program that calls NVML.
//
// They are of the time of the question on a rank's clock. A process without a clock of its own (a
// launcher, a monitor) gets those of the latest clock of the server's ranks, and a thread that
// issues no GPU work those of its process's clock, as far as the agent has read the records of
// others.
#pragma once

#include <cstdint>

namespace eidolon::ring {

// Power, energy and clock are those of services/agent/device/power_clock.h; windows end at
// `time_ps`.
struct DeviceSensors {
  std::uint64_t time_ps;
  std::uint64_t energy_microjoules;  // Since virtual time 0.
  std::uint64_t slowed_ps;           // Time for which work ran below its clock, since then.
  std::uint32_t power_known;         // 0: neither power nor energy.
  std::uint32_t mean_milliwatts;     // Over 1 s.
  std::uint32_t instant_milliwatts;  // Over 25 ms.
  std::uint32_t clock_share;         // The multiprocessors' clock over that of bursts, in 1/1024.
  std::uint32_t busy_permille;       // Time with some operation, over a sixth of a second.
  std::uint32_t memory_permille;     // The same by the share of the memory's bandwidth.
  std::uint32_t default_milliwatts;  // The power limit that the GPU starts with.
  std::uint32_t reserved;
};
static_assert(sizeof(DeviceSensors) == 56);

}  // namespace eidolon::ring
