// Reads from the kernel the host memory of this process's cgroup: whether it has killed a process
// for lack of memory, and the limit. In a pod the cgroup is the container's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace eidolon::agent::launch {

struct HostMemory {
  std::uint64_t kills = 0;        // Processes killed for lack of memory, ever.
  std::uint64_t limit_hits = 0;   // How often the limit left the kernel no memory to give, ever.
  std::uint64_t limit_bytes = 0;  // 0: no limit.
  std::uint64_t peak_bytes = 0;   // The most that was in use, ever; 0: not known.
};

// Nothing where there is no such cgroup. `cgroups` is where the cgroup file systems are mounted.
std::optional<HostMemory> ReadHostMemory(const std::string& proc = "/proc",
                                         const std::string& cgroups = "/sys/fs/cgroup");

// Returns whether the kernel killed for want of memory below the limit. The cgroup of the pod has
// the same limit and holds a little more, so it may be the one that is full.
bool IsAtLimit(const HostMemory& memory);

// What has happened from `before` to `now`: kills and hits since, limit and peak of now.
HostMemory HostMemorySince(const HostMemory& before, const HostMemory& now);

}  // namespace eidolon::agent::launch
