// The parts of the device engine put together, and a sink that keeps what it is told: for the tests
// of single parts.
#pragma once

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <vector>

#include "services/agent/device/dispatcher.h"
#include "services/agent/device/emulated_gpu.h"
#include "services/agent/device/event_table.h"
#include "services/agent/device/open_work.h"
#include "services/agent/device/signal_table.h"
#include "services/agent/device/stream_table.h"

namespace eidolon::agent::device {

class RecordingSink : public Sink {
 public:
  void OpResolved(const ResolvedOp& op) override { ops[op.sequence] = op; }
  void CollectiveReady(std::uint64_t token, base::SimTime at) override { ready[token] = at; }
  void WaitEnded(std::uint64_t ticket, base::SimTime time) override { waits[ticket] = time; }

  std::map<std::uint64_t, ResolvedOp> ops;
  std::map<std::uint64_t, base::SimTime> ready;
  std::map<std::uint64_t, base::SimTime> waits;
};

// Two GPUs with 3 us of launch latency and 1 us between operations.
class PartsTest : public ::testing::Test {
 protected:
  static base::SimTime Us(std::int64_t us) { return {us * 1'000'000}; }
  static base::Duration Span(std::int64_t us) { return base::Duration::Microseconds(us); }
  static Work Kernel(std::int64_t us) { return {.duration = Span(us), .share = 1}; }
  static Collective AllReduce(std::uint64_t token) {
    return {.communicator = 9, .token = token, .estimate = Span(100)};
  }
  static Traits Facts() {
    return {.launch_latency = Span(3),
            .launch_gap = Span(1),
            .graph_gap = Span(1),
            .callback_cost = Span(10),
            .multiprocessors = 100};
  }
  // The legacy stream of device 0 unless another is named.
  const Stream& At(std::uint32_t stream = 0) { return **streams_.Find(0, stream); }
  Signal Issue(std::uint64_t token, std::uint32_t stream = 0) {
    const Signal end = dispatcher_.AddCollective(dispatcher_.PlaceOf(At(stream), Us(0)),
                                                 streams_.TailOf(At(stream)), AllReduce(token));
    work_.Assign(At(stream).tail, end);
    return end;
  }

  RecordingSink sink_;
  const Traits facts_[2] = {Facts(), Facts()};
  std::vector<EmulatedGpu> gpus_{std::begin(facts_), std::end(facts_)};
  SignalTable signals_;
  OpenWork work_{&signals_, &sink_};
  EventTable events_{&signals_, &work_};
  StreamTable streams_{&gpus_, &signals_, &work_};
  Dispatcher dispatcher_{
      {.gpus = &gpus_, .signals = &signals_, .work = &work_, .streams = &streams_, .sink = &sink_}};
};

}  // namespace eidolon::agent::device
