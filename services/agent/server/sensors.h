// Readings of the server's emulated GPUs, of what all processes did on them.
#pragma once

#include <cstdint>

#include "services/agent/server/job_parts.h"
#include "services/agent/server/processes.h"
#include "services/base/sim_time.h"
#include "services/contract/ring/sensors.h"

namespace eidolon::agent::server {

// Windows of the readings. Power: as an H100's, "Part-time Power Measurements: nvidia-smi's Lack of
// Attention" (Yang, Adamek, Armour, SC 2024); utilization: the shorter of NVML's two.
inline constexpr base::Duration kMeanPowerWindow = base::Duration::Milliseconds(1000);
inline constexpr base::Duration kInstantPowerWindow = base::Duration::Milliseconds(25);
inline constexpr base::Duration kUtilizationWindow = base::Duration::Microseconds(166'667);

// Returns the latest clock of the processes that bound the server's clock.
base::SimTime LatestClock(const Processes& processes);

// Requires, of both: the device exists.
bool PowerIsKnown(const JobParts& job, std::uint16_t device);
::eidolon::ring::DeviceSensors ReadSensors(const JobParts& job, const Processes& processes,
                                           std::uint16_t device, base::SimTime time);

}  // namespace eidolon::agent::server
