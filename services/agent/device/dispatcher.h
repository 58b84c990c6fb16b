// Starts operations: when each can start at the earliest, how long it takes beside others, and
// whether that is known at once or has to wait for the network.
#pragma once

#include <cstdint>
#include <vector>

#include "services/agent/device/emulated_gpu.h"
#include "services/agent/device/id_map.h"
#include "services/agent/device/open_work.h"
#include "services/agent/device/operation.h"
#include "services/agent/device/signal_table.h"
#include "services/agent/device/stream_table.h"
#include "services/base/sim_time.h"

namespace eidolon::agent::device {

// Owned by the engine; no threads. Numbers operations in the order in which they come. Collectives
// of one communicator run one after another, whatever their streams.
class Dispatcher {
 public:
  struct Parts {
    std::vector<EmulatedGpu>* gpus;
    SignalTable* signals;
    OpenWork* work;
    StreamTable* streams;
    Sink* sink;
  };
  // All of them outlive it.
  explicit Dispatcher(const Parts& parts) : parts_(parts) {}

  // Place where an operation runs, and time since which the GPU knows of it.
  struct Place {
    std::uint16_t device = 0;
    std::uint32_t stream = 0;
    SignalTable::Slot tail = 0;  // Of the stream.
    int lane = 0;
    base::SimTime host_clock;
    base::SimTime host_ready;
    base::Duration gap;  // From the end of what an operation waits for to its start.
  };
  Place PlaceOf(const Stream& stream, base::SimTime host_clock) const {
    return {.device = stream.device,
            .stream = stream.id,
            .tail = stream.tail,
            .lane = stream.lane,
            .host_clock = host_clock,
            .host_ready = host_clock + (*parts_.gpus)[stream.device].traits.launch_latency,
            .gap = (*parts_.gpus)[stream.device].traits.launch_gap};
  }

  // Each answers the signal of the operation's end. `after` is what it waits for.
  Signal AddWork(const Place& place, const Signal& after, const Work& work,
                 OpKind kind = OpKind::kWork);
  Signal AddCallback(const Place& place, const Signal& after);
  Signal AddCollective(const Place& place, Signal after, const Collective& collective);

  // Operations so far.
  std::uint64_t issued() const { return next_sequence_; }

 private:
  Parts parts_;
  IdMap<SignalTable::Slot> communicators_;  // End of the last collective.
  std::uint64_t next_sequence_ = 0;
};

}  // namespace eidolon::agent::device
