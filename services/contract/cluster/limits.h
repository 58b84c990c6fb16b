// Limits the size of a described cluster. Beyond these sizes a number is a typing error, or the
// tables made of it would exhaust memory. Said once for jobs and for `eidolon net`: of two limits
// the larger that the controller, its message to the network service, and the simulation can bear.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/contract/machine/machine.h"

namespace eidolon::cluster {

inline constexpr std::int64_t kServersMax = 131'072;
inline constexpr std::int64_t kGpusPerServerMax = 1'024;  // An NVLink rack may count as one server.
inline constexpr std::int64_t kGpusMax = 1 << 20;         // Of the whole cluster.
inline constexpr double kGpuClockMin = machine::kClockMin;
inline constexpr double kGpuClockMax = machine::kClockMax;
inline constexpr double kPowerLimitWattsMin = 50;
inline constexpr double kPowerLimitWattsMax = 5'000;
inline constexpr std::int64_t kServersPerDomainMax = 256;
inline constexpr std::int64_t kNicsMax = 1'024;  // Of a server.
inline constexpr double kNicGigabitsMax = 100'000;
inline constexpr double kLatencyMicrosecondsMax = 1e6;
inline constexpr double kOversubscriptionMax = 1'000;

inline constexpr std::int64_t kTierMax = 4'096;  // NICs of a leaf, leaves of a pod, spines.
inline constexpr std::int64_t kServersPerRouterMax = 1'024;
inline constexpr std::int64_t kRoutersPerGroupMax = 256;
inline constexpr std::size_t kDimensionsMax = 16;
inline constexpr std::int64_t kDimensionMax = 64;  // Servers along one.
inline constexpr double kLinkGigabitsMin = 0.1;
inline constexpr double kLinkGigabitsMax = 1e6;

// Documents are read at every request that names them, and travel in one message: this many cables
// take 5 MB of its 64.
inline constexpr std::size_t kSwitchesMax = 4'096;
inline constexpr std::size_t kCablesMax = std::size_t{1} << 18;
inline constexpr std::size_t kPlugsMax = std::size_t{1} << 20;

inline constexpr std::size_t kEventsMax = 10'000;  // Faults; as many background transfers.
inline constexpr double kFaultSecondsMax = 2e6;    // Beyond it virtual time has no room left.
inline constexpr std::int64_t kWeightMax = 4'096;  // Of background traffic.

}  // namespace eidolon::cluster
