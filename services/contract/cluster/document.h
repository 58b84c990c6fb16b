// The description of a cluster: which fields it has, what they may hold, and what they mean
// together. docs/network_topology.md describes it.
#pragma once

#include <cstdint>
#include <optional>

#include "services/contract/cluster/cluster_spec.h"
#include "services/contract/cluster/fabric_document.h"
#include "services/contract/cluster/fields.h"

namespace eidolon::cluster {

struct ReadOptions {
  // Number of servers if the document gives it; nothing: that of the preset.
  std::optional<std::uint32_t> servers;
  // A cluster that NVLink alone connects has no fabric unless the document names one; else it keeps
  // its preset's, for whoever adds servers later.
  bool fabric_as_needed = true;
  PlanCheck check_plan;
};

// Reads a cluster and finishes the reader.
ClusterSpec ReadCluster(Fields& fields, const ReadOptions& options);

}  // namespace eidolon::cluster
