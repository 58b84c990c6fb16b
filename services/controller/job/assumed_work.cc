#include "services/controller/job/assumed_work.h"

#include <algorithm>

namespace eidolon::controller::job {

AssumedWork BoundAssumed(double launches, double seconds, std::span<const AllocatedMemory> memory) {
  AssumedWork work{.launches = launches, .seconds = seconds, .seconds_max = seconds};
  if (launches <= 0) return work;
  for (const AllocatedMemory& rank : memory) {
    if (rank.bytes_per_second == 0) continue;
    const double longest =
        launches * static_cast<double>(rank.bytes) / static_cast<double>(rank.bytes_per_second);
    work.bytes_max = std::max(work.bytes_max, rank.bytes);
    work.seconds_max = std::max(work.seconds_max, longest);
  }
  return work;
}

}  // namespace eidolon::controller::job
