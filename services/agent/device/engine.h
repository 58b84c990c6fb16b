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
// Memory: an operation with known inputs is resolved at once and never stored; the others live in
// open_work.h until they are resolved. So the engine's size follows the open work, not the length
// of the job.
//
// Its parts, each of which knows only those before it: signal_table.h (times that may be open),
// open_work.h, event_table.h, stream_table.h, dispatcher.h (starts operations), graph_table.h.
//
// Threads: none; the agent's main loop owns it. Knows no sockets, protocols or real clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/agent/device/dispatcher.h"
#include "services/agent/device/emulated_gpu.h"
#include "services/agent/device/event_table.h"
#include "services/agent/device/graph_table.h"
#include "services/agent/device/load_history.h"
#include "services/agent/device/open_work.h"
#include "services/agent/device/operation.h"
#include "services/agent/device/signal_table.h"
#include "services/agent/device/stream_table.h"
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
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Priorities are CUDA's: a lower number comes first.
  Result<void> CreateStream(std::uint16_t device, std::uint32_t stream, bool non_blocking,
                            int priority = 0);
  Result<void> DestroyStream(std::uint32_t stream);
  Result<void> CreateEvent(std::uint32_t event);
  Result<void> DestroyEvent(std::uint32_t event);

  using Call = device::Call;
  Result<void> Launch(const Call& call, const Work& work);
  Result<void> RecordEvent(const Call& call, std::uint32_t event);
  Result<void> WaitEvent(const Call& call, std::uint32_t event);
  Result<void> Callback(const Call& call);
  Result<void> Issue(const Call& call, const Collective& collective);
  // The network's answer. False when no collective with this token is open and ready.
  bool ResolveCollective(std::uint64_t token, SimTime start, SimTime finish);

  // The network knows that it ends at `end` or later: what waits for it is bounded by that.
  void BoundCollective(std::uint64_t token, SimTime end) { work_.BoundCollective(token, end); }

  // Requires: dependencies point to earlier nodes.
  Result<void> DefineGraph(std::uint16_t device, std::uint32_t graph, std::vector<GraphNode> nodes);
  Result<void> DestroyGraph(std::uint32_t graph);
  // `collectives`: one for each kCollective node, in node order.
  Result<void> LaunchGraph(const Call& call, std::uint32_t graph,
                           std::span<const Collective> collectives);

  // Time when all work issued so far to the stream, the device, or up to the event's last record
  // ends; nothing while it is open. With a ticket, an open answer comes by Sink::WaitEnded later.
  struct Completion {
    std::optional<SimTime> time;
    SimTime not_before;      // While it is open: its end is this or later, whatever comes...
    std::uint64_t node = 0;  // ...and what EarliestEnd knows it by.
  };
  Result<Completion> StreamEnd(std::uint16_t device, std::uint32_t stream,
                               std::optional<std::uint64_t> ticket);
  Result<Completion> DeviceEnd(std::uint16_t device, std::optional<std::uint64_t> ticket);
  // Returns the earliest end of an open completion: its not_before, as it is by now. Time 0 when it
  // has ended.
  SimTime EarliestEnd(std::uint64_t node) const { return work_.EarliestEnd(node); }
  // An event that was never recorded is complete at time 0.
  Result<Completion> EventEnd(std::uint32_t event, std::optional<std::uint64_t> ticket);

  // Requires: the device exists.
  const LoadHistory& HistoryOf(std::uint16_t device) const { return gpus_[device].history; }

  std::uint64_t issued() const { return dispatcher_.issued(); }
  // Operations that wait for a collective, collectives included.
  std::size_t open_operations() const { return work_.open_operations(); }

 private:
  std::vector<EmulatedGpu> gpus_;
  SignalTable signals_;
  OpenWork work_;
  EventTable events_;
  StreamTable streams_;
  Dispatcher dispatcher_;
  GraphTable graphs_;
};

}  // namespace eidolon::agent::device
