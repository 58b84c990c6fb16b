// Nanoseconds an operation costs the engine.
#include <benchmark/benchmark.h>

#include "services/agent/device/engine.h"

namespace eidolon::agent::device {
namespace {

using base::Duration;
using base::SimTime;

class Discard : public Sink {
 public:
  void OpResolved(const ResolvedOp& op) override { last = op.finish; }
  void CollectiveReady(std::uint64_t token, SimTime ready) override {
    open = token;
    at = ready;
  }
  void WaitEnded(std::uint64_t, SimTime) override {}
  SimTime last;
  std::uint64_t open = 0;
  SimTime at;
};

std::vector<Traits> OneGpu() {
  return {{.launch_latency = Duration::Microseconds(3),
           .launch_gap = Duration::Microseconds(1),
           .graph_gap = Duration::Microseconds(1),
           .callback_cost = Duration::Microseconds(10),
           .multiprocessors = 132}};
}

void KnownLaunch(benchmark::State& state) {
  Discard sink;
  Engine engine(OneGpu(), &sink);
  for (std::uint32_t s = 1; s <= 8; ++s) (void)engine.CreateStream(0, s, true);
  SimTime clock;
  for (auto _ : state) {
    clock += Duration::Microseconds(5);
    (void)engine.Launch({.host_clock = clock}, {.duration = Duration::Microseconds(7)});
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(KnownLaunch);

// A GPU that computes without pause, at its power limit.
void LaunchUnderALimit(benchmark::State& state) {
  Discard sink;
  std::vector<Traits> gpus = OneGpu();
  gpus[0].power = {.floor_milliwatts = 126'000, .room_milliwatts = 565'000};
  Engine engine(gpus, &sink);
  for (std::uint32_t s = 1; s <= 8; ++s) (void)engine.CreateStream(0, s, true);
  SimTime clock;
  for (auto _ : state) {
    clock += Duration::Microseconds(5);
    (void)engine.Launch({.host_clock = clock},
                        {.duration = Duration::Microseconds(7),
                         .draw = {.milliwatts = 800'000, .clock_share = 1024}});
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(LaunchUnderALimit);

// A step as DDP makes it: 40 kernels, then an all-reduce on another stream, answered 200 records
// later.
void OpenLaunch(benchmark::State& state) {
  Discard sink;
  Engine engine(OneGpu(), &sink);
  (void)engine.CreateStream(0, 1, true);
  (void)engine.CreateEvent(1);
  (void)engine.CreateEvent(2);
  SimTime clock;
  std::uint64_t records = 0;
  std::uint64_t token = 0;
  for (auto _ : state) {
    clock += Duration::Microseconds(5);
    const Engine::Call compute{.host_clock = clock};
    const Engine::Call nccl{.stream = 1, .host_clock = clock};
    (void)engine.Launch(compute, {.duration = Duration::Microseconds(7)});
    if (++records % 40 == 0) {
      (void)engine.RecordEvent(compute, 1);
      (void)engine.WaitEvent(nccl, 1);
      (void)engine.Issue(nccl, {.communicator = 1,
                                .token = ++token,
                                .estimate = Duration::Microseconds(100),
                                .channels = 16});
    }
    if (records % 200 == 0) {
      (void)engine.RecordEvent(nccl, 2);
      (void)engine.WaitEvent(compute, 2);
    }
    if (records % 200 == 100) {
      while (sink.open != 0) {
        const auto taken = sink.open;
        sink.open = 0;
        engine.ResolveCollective(taken, sink.at, sink.at + Duration::Microseconds(100));
      }
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OpenLaunch);

}  // namespace
}  // namespace eidolon::agent::device
