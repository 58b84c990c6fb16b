// Words of the device engine: what goes in (work, collectives, graph nodes) and what comes out.
#pragma once

#include <cstdint>
#include <vector>

#include "services/agent/device/contention.h"
#include "services/agent/device/power_clock.h"
#include "services/base/sim_time.h"

namespace eidolon::agent::device {

// The engine's facts of a GPU.
struct Traits {
  base::Duration launch_latency;  // Host call to start on an idle stream.
  base::Duration launch_gap;      // End of a dependency to the start of the next operation.
  base::Duration graph_gap;       // The same between nodes of a graph...
  base::Duration gemm_graph_gap;  // ...and before a GEMM there, where it is longer.
  base::Duration callback_cost;   // A host function in a stream.
  std::uint32_t multiprocessors = 1;
  std::uint64_t memory_bytes_per_second = 0;  // That large kernels attain; 0: no sharing of it.
  PowerTraits power;
  // Work that the clock bounds lasts so many millionths longer than it says; negative: shorter.
  std::int32_t slowness = 0;
};

// Place and time of a call of the program.
struct Call {
  std::uint16_t device = 0;
  std::uint32_t stream = 0;
  base::SimTime host_clock;
};

// Cost of one operation.
struct Work {
  base::Duration duration;  // Alone on an average device, at its burst clock.
  Resource resource = Resource::kMultiprocessors;
  std::uint32_t share = kWholeShare;
  std::uint32_t memory = 0;  // Share of the memory's bandwidth.
  std::uint32_t tag = 0;     // The caller's number; comes back in ResolvedOp.
  bool is_gemm = false;      // Of a library.
  bool clock_bound = false;  // The clock of the multiprocessors bounds it, not memory or a link.
  Draw draw;
};

// Returns how long the work takes alone on this device.
base::Duration DurationOn(const Traits& device, const Work& work);

// A collective as the engine sees it.
struct Collective {
  std::uint32_t communicator = 0;
  std::uint64_t token = 0;     // The caller's number, unique in the engine.
  base::Duration estimate;     // Alone on the fabric.
  base::Duration at_least;     // From when this device is ready: whatever others do, not shorter.
  bool tells_bound = false;    // Sink::CollectiveBounded hears how early it can be ready.
  std::uint32_t channels = 0;  // Multiprocessors it occupies.
  std::uint64_t memory_bytes = 0;  // Read and written in this GPU's memory meanwhile.
  std::uint32_t tag = 0;
};

enum class OpKind : std::uint8_t { kWork, kCollective, kCallback };

struct ResolvedOp {
  std::uint64_t sequence;  // Program order within the engine, from 0.
  std::uint32_t stream;
  std::uint16_t device;
  OpKind kind;
  bool host_bound;  // Nothing but the host's call held the start back.
  std::uint32_t tag;
  base::SimTime ready;  // Collectives: when this device could start.
  base::SimTime start;
  base::SimTime finish;
  // Sequence + 1 of the operation that it was ready behind; 0: nothing but calls of the host.
  std::uint64_t released_by;
  std::uint64_t microjoules = 0;  // Above the floor of the GPU's power.
  std::uint32_t milliwatts = 0;   // Of the GPU, a mean over the time before it (power_clock.h).
};

// Receives what the engine finds out. Calls come from inside the engine's methods and must not call
// back into it. Operations of different streams are reported in no particular order.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void OpResolved(const ResolvedOp& op) = 0;
  virtual void CollectiveReady(std::uint64_t token, base::SimTime ready) = 0;
  // It will not be ready before `ready`. Told of collectives with `tells_bound` that wait for
  // others, and again when that has become notably later.
  virtual void CollectiveBounded(std::uint64_t /*token*/, base::SimTime /*ready*/) {}
  virtual void WaitEnded(std::uint64_t ticket, base::SimTime time) = 0;
};

enum class GraphNodeKind : std::uint8_t {
  kEmpty,
  kWork,
  kEventRecord,
  kEventWait,
  kCallback,
  kCollective
};
struct GraphNode {
  GraphNodeKind kind = GraphNodeKind::kEmpty;
  std::uint32_t event = 0;                  // kEventRecord, kEventWait.
  Work work;                                // kWork.
  std::vector<std::uint32_t> dependencies;  // Indices of earlier nodes.
};

}  // namespace eidolon::agent::device
