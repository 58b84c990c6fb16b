// Flags of the operator about the pods that it makes, as the chart gives them.
#pragma once

#include <string>

#include "services/base/error.h"
#include "services/controller/reconcile/plan.h"

namespace eidolon::controller::kube_host {

struct PodFlags {
  std::string memory_per_rank = "2Gi";
  std::string memory_limit_per_rank = "32Gi";  // "0": no limit.
  std::string network_pod;                     // JSON; empty: what Settings has by itself.
  std::string injection_resources;             // Likewise.
};

// Fails with the flag that cannot be read, and with what it should hold.
base::Result<void> ReadPodFlags(const PodFlags& flags, reconcile::Settings* settings);

}  // namespace eidolon::controller::kube_host
