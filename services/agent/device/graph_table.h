// Graphs: expanded at launch by their dependencies. Branches get lanes of their own, so that they
// contend with each other and with streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/agent/device/dispatcher.h"
#include "services/agent/device/emulated_gpu.h"
#include "services/agent/device/event_table.h"
#include "services/agent/device/id_map.h"
#include "services/agent/device/open_work.h"
#include "services/agent/device/operation.h"
#include "services/agent/device/signal_table.h"
#include "services/agent/device/stream_table.h"
#include "services/base/error.h"

namespace eidolon::agent::device {

// Owned by the engine; no threads. A graph does not overlap itself, whatever streams it is launched
// in. Failures name the unknown thing.
class GraphTable {
 public:
  struct Parts {
    std::vector<EmulatedGpu>* gpus;
    SignalTable* signals;
    OpenWork* work;
    StreamTable* streams;
    EventTable* events;
    Dispatcher* dispatcher;
  };
  // All of them outlive it.
  explicit GraphTable(const Parts& parts) : parts_(parts) {}

  // Requires: dependencies point to earlier nodes.
  base::Result<void> Define(std::uint16_t device, std::uint32_t graph,
                            std::vector<GraphNode> nodes);
  base::Result<void> Destroy(std::uint32_t graph);
  // `collectives`: one for each kCollective node, in node order.
  base::Result<void> Launch(const Call& call, std::uint32_t graph,
                            std::span<const Collective> collectives);

 private:
  struct Graph {
    std::uint16_t device = 0;
    std::vector<GraphNode> nodes;
    std::vector<int> lanes;  // Lane of each node.
    std::vector<int> owned_lanes;
    std::vector<std::uint32_t> ends;  // Nodes that nothing depends on.
    std::size_t collectives = 0;
    SignalTable::Slot last = 0;  // The end of its last launch.
  };

  void AssignLanes(Graph* graph);
  Signal AddNode(const Dispatcher::Place& place, const GraphNode& node, const Signal& after,
                 std::span<const Collective>* collectives);

  Parts parts_;
  IdMap<Graph> graphs_;
};

}  // namespace eidolon::agent::device
