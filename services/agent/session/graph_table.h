// The graphs of one process: what the engine has to run of one, and what the iteration detector
// sees when it is launched.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "services/agent/device/engine.h"
#include "services/agent/iteration/detector.h"
#include "services/agent/ring/reader.h"
#include "services/agent/session/applied.h"
#include "services/agent/session/collective_calls.h"
#include "services/agent/session/session_host.h"
#include "services/agent/session/work_definitions.h"
#include "services/base/error.h"

namespace eidolon::agent::session {

// What the detector sees of a graph, and the collectives it issues.
struct GraphShape {
  struct Node {
    std::uint32_t id = 0;  // GraphNode::id.
    std::uint32_t identity = 0;
    iteration::Update update = iteration::Update::kNo;
    std::uint64_t likeness = 0;  // Of work: the cost entry's.
  };
  std::vector<Node> nodes;  // Those that become operations.
  std::vector<std::uint32_t> templates;
};

// Holds the shape of each graph that the engine holds. Owned by its session. Main loop only.
class GraphTable {
 public:
  // All outlive it.
  GraphTable(SessionHost* host, device::Engine* engine, WorkDefinitions* works,
             const CollectiveCalls* calls)
      : host_(host), engine_(engine), works_(works), calls_(calls) {}

  // Stalls while the cost of one of its works is not known.
  ApplyResult Define(const ring::RecordView& record);
  base::Result<void> Destroy(std::uint32_t graph);
  base::Result<const GraphShape*> Find(std::uint32_t graph) const;

 private:
  ApplyResult AddNode(std::uint32_t index, const ::eidolon::ring::GraphNode& node,
                      device::GraphNode first, std::vector<device::GraphNode>* made,
                      GraphShape* shape);

  SessionHost* host_;
  device::Engine* engine_;
  WorkDefinitions* works_;
  const CollectiveCalls* calls_;
  std::map<std::uint32_t, GraphShape> shapes_;
};

}  // namespace eidolon::agent::session
