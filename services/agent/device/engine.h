// The device engine: when each operation of one rank process's emulated GPUs starts and ends.
//
// It is a dataflow in program order, not a time-stepped simulation. An operation starts at the
// latest of: the end of its stream's previous operation plus the GPU's launch gap, the host's call
// plus the launch latency, the events its stream waited for, and the legacy default stream's rules;
// it ends after its duration, which is known when it is enqueued. Only collectives are open: the
// engine says when one could start (Sink::CollectiveReady), the network service decides when it
// ends (ResolveCollective), and everything behind it waits for that. What is resolved is final. No
// result depends on the order in which ResolveCollective is called.
//
// Collectives of one communicator run one after another in issue order, whatever their streams.
// Operations that overlap on a device slow each other down by contention.h's rules.
//
// Memory: an operation with known inputs is resolved at once and never stored; the others live in a
// slab until they are resolved. So the engine's size follows the open work, not the length of the
// job.
//
// Threads: none; the agent's main loop owns it. Knows no sockets, protocols or real clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "services/agent/device/contention.h"
#include "services/agent/device/id_map.h"
#include "services/agent/device/operation.h"
#include "services/base/error.h"
#include "services/base/sim_time.h"

namespace eidolon::agent::device {

// Streams: identifiers are unique in the process, except that each device has a legacy default
// stream 0. Failures name the unknown thing; the record that asked is then wrong.
class Engine {
 public:
  template <typename T>
  using Result = base::Result<T>;
  using SimTime = base::SimTime;

  // `devices`: the server's GPUs by local index. `sink` outlives the engine.
  Engine(std::vector<Traits> devices, Sink* sink);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Result<void> CreateStream(std::uint16_t device, std::uint32_t stream, bool non_blocking);
  Result<void> DestroyStream(std::uint32_t stream);
  Result<void> CreateEvent(std::uint32_t event);
  Result<void> DestroyEvent(std::uint32_t event);

  // Where and when the program made a call.
  struct Call {
    std::uint16_t device = 0;
    std::uint32_t stream = 0;
    SimTime host_clock;
  };
  Result<void> Launch(const Call& call, const Work& work);
  Result<void> RecordEvent(const Call& call, std::uint32_t event);
  Result<void> WaitEvent(const Call& call, std::uint32_t event);
  Result<void> Callback(const Call& call);
  Result<void> Issue(const Call& call, const Collective& collective);
  // The network's answer. False when no collective with this token is open and ready.
  bool ResolveCollective(std::uint64_t token, SimTime start, SimTime finish);

  // Requires: dependencies point to earlier nodes.
  Result<void> DefineGraph(std::uint16_t device, std::uint32_t graph, std::vector<GraphNode> nodes);
  Result<void> DestroyGraph(std::uint32_t graph);
  // `collectives`: one for each kCollective node, in node order.
  Result<void> LaunchGraph(const Call& call, std::uint32_t graph,
                           std::span<const Collective> collectives);

  // When all work issued so far to the stream, the device, or up to the event's last record ends:
  // the time, or nothing while it is open. With a ticket, an open answer comes by Sink::WaitEnded
  // later.
  struct Completion {
    std::optional<SimTime> time;
  };
  Result<Completion> StreamEnd(std::uint16_t device, std::uint32_t stream,
                               std::optional<std::uint64_t> ticket);
  Result<Completion> DeviceEnd(std::uint16_t device, std::optional<std::uint64_t> ticket);
  // An event that was never recorded is complete at time 0.
  Result<Completion> EventEnd(std::uint32_t event, std::optional<std::uint64_t> ticket);

  std::uint64_t issued() const { return next_sequence_; }
  // Operations that wait for a collective, collectives included.
  std::size_t open_operations() const { return open_; }

 private:
  // A time that may still be open: the later of `at` and the end of `node`. `local` is its value on
  // the local timeline (contention.h), which is always known.
  struct Signal {
    std::uint64_t node = 0;  // 0: nothing open.
    SimTime at;
    SimTime local;
  };
  struct Stream {
    std::uint32_t id = 0;
    std::uint16_t device = 0;
    bool legacy = false;
    bool non_blocking = false;
    int lane = 0;
    Signal tail;
  };
  struct Device {
    Traits traits;
    Contention contention;
    std::vector<std::uint32_t> streams;   // All but the legacy one, in order of creation.
    std::vector<std::uint32_t> blocking;  // Those that follow the legacy stream's rules.
    Signal orphans;                       // Ends of destroyed streams' work.
  };
  struct Graph {
    std::uint16_t device = 0;
    std::vector<GraphNode> nodes;
    std::vector<int> lanes;  // Lane of each node.
    std::vector<int> owned_lanes;
    std::vector<std::uint32_t> ends;  // Nodes that nothing depends on.
    std::size_t collectives = 0;
    Signal last;  // A graph does not overlap itself.
  };
  // An operation, or a join of two signals, that waits for something open.
  struct Open {
    ResolvedOp op{};
    std::uint32_t generation = 1;
    std::uint32_t inputs = 0;
    std::uint32_t first_edge = 0;  // Index + 1 into edges_.
    bool is_join = false;
    std::uint32_t communicator = 0;
    std::uint64_t token = 0;
    SimTime host_ready;
    base::Duration gap;
    base::Duration duration;
  };
  enum class EdgeKind : std::uint8_t { kInput, kStream, kGraph, kEvent, kTicket };
  struct Edge {
    std::uint32_t next = 0;
    EdgeKind kind = EdgeKind::kInput;
    std::uint64_t target = 0;
    SimTime floor;  // kTicket: the answer is at least this.
  };
  struct Place {
    std::uint16_t device;
    std::uint32_t stream;
    int lane;
    SimTime host_clock;
    SimTime host_ready;
  };

  // Streams and devices (engine.cc).
  Result<Stream*> FindStream(std::uint16_t device, std::uint32_t stream);
  void SetTail(Stream* stream, const Signal& signal);
  void FollowLegacyRules(Stream* stream);
  Place PlaceOf(const Call& call, const Stream& stream) const;
  Completion Watch(const Signal& signal, std::optional<std::uint64_t> ticket);
  // Operations: each returns the signal of its end.
  Signal AddWork(const Place& place, const Signal& after, const Work& work, OpKind kind);
  Signal AddCollective(const Place& place, const Signal& after, const Collective& collective);
  // Work of a stream ends later than was said: so does what the stream does next.
  void Delay(std::uint16_t device, const Contention::Delayed& delayed);
  Signal AddGraphNode(const Place& place, const GraphNode& node, const Signal& after,
                      std::span<const Collective>* collectives);
  void SetEvent(std::uint32_t event, const Signal& signal);
  // Open work (open_work.cc).
  Signal Merge(const Signal& a, const Signal& b, std::uint16_t device, std::uint32_t stream);
  std::uint64_t NewOpen(const Open& open);
  Open* FindOpen(std::uint64_t node);
  void AddEdge(std::uint64_t node, Edge edge);
  void Complete(std::uint64_t node, SimTime finish);
  void Settle(std::uint64_t node, Open* open);
  void FollowEdges(std::uint64_t node, std::uint32_t first, SimTime finish);
  static void Close(Signal* signal, std::uint64_t node, SimTime finish);

  Sink* sink_;
  std::vector<Device> devices_;
  IdMap<Stream> streams_;
  IdMap<Signal> events_;
  IdMap<Signal> communicators_;  // End of the last collective.
  IdMap<Graph> graphs_;
  IdMap<std::uint64_t> tokens_;  // Open collectives that are ready.
  std::vector<Open> slab_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> free_edges_;
  std::vector<std::pair<std::uint64_t, SimTime>> finished_;  // Work list of Complete.
  std::uint64_t next_sequence_ = 0;
  std::size_t open_ = 0;
};

}  // namespace eidolon::agent::device
