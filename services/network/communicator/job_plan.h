// Facts of a job when it is registered.
#pragma once

#include <cstdint>
#include <vector>

#include "services/contract/folding/fold.h"
#include "services/network/collective/tuning.h"

namespace eidolon::network::communicator {

struct JobPlan {
  std::vector<std::uint32_t> placement;  // Position in the cluster of each server.
  collective::Tuning tuning;
  folding::Fold fold;                      // Which ranks have processes.
  std::uint32_t ranks_per_server = 0;      // Folded jobs; rank r has GPU r % ranks_per_server.
  std::uint32_t transfer_permille = 1000;  // What transfers take, of what they would.
};

}  // namespace eidolon::network::communicator
