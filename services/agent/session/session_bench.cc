// Records a second that one session takes in: ring, checks, costs, engine, iterations.
#include <benchmark/benchmark.h>

#include "eidolon/common/v1/common.pb.h"
#include "eidolon/network/v1/network.pb.h"
#include "services/agent/ring/fake_writer.h"
#include "services/agent/session/fake_host.h"
#include "services/agent/session/session.h"
#include "services/base/check.h"

namespace eidolon::agent::session {
namespace {

// A server that knows every cost and talks to nobody.
class LoneHost final : public FakeHost {
 public:
  void IterationEnded(Session&, const iteration::Report&) override { ++iterations; }

  void LearnAll() {
    common::v1::Estimate estimate;
    estimate.set_duration_picoseconds(7'000'000);
    estimate.set_source(common::v1::ESTIMATE_SOURCE_MODELLED);
    for (const auto& question : costs().TakeQuestions(1'000'000)) {
      costs().Learn(question.entry, estimate);
    }
  }
  std::uint64_t iterations = 0;
};

SessionOptions OneGpu() {
  SessionOptions options;
  options.devices = {{.launch_latency = base::Duration::Microseconds(3),
                      .launch_gap = base::Duration::Microseconds(1),
                      .graph_gap = base::Duration::Microseconds(1),
                      .callback_cost = base::Duration::Microseconds(20),
                      .multiprocessors = 132}};
  return options;
}

// Steps of 1,000 launches of 100 distinct kernels, ended by an optimizer.
void DrainLaunches(benchmark::State& state) {
  LoneHost host;
  host.costs().InternBasis(estimate::Source::kMeasured, 0, "none", 0);
  ring::Segment segment = *ring::Segment::Create({.devices = {{}}}, 1, 0);
  ring::FakeWriter writer(segment.base());
  Session session(OneGpu(), std::move(segment), &host);
  for (std::uint32_t work = 1; work <= 100; ++work) {
    writer.DefineKernel(work, "kernel_" + std::to_string(work));
  }
  writer.DefineKernel(101, "FusedAdam");
  CHECK(session.Drain(1000).has_value());
  host.LearnAll();
  constexpr int kStep = 1000;
  std::uint64_t clock = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < kStep; ++i) {
      clock += 5'000'000;
      writer.SetClock(clock);
      writer.Launch(0, i + 1 == kStep ? 101 : 1 + static_cast<std::uint32_t>(i) % 100);
    }
    state.ResumeTiming();
    CHECK(session.Drain(kStep).has_value());
  }
  state.SetItemsProcessed(state.iterations() * kStep);
  state.counters["iterations"] = static_cast<double>(host.iterations);
}
BENCHMARK(DrainLaunches);

}  // namespace
}  // namespace eidolon::agent::session
