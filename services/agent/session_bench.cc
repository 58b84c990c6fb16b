// Records a second that one session takes in: ring, checks, costs, engine, iterations.
#include <benchmark/benchmark.h>

#include "eidolon/common/v1/common.pb.h"
#include "eidolon/network/v1/network.pb.h"
#include "services/agent/ring/fake_writer.h"
#include "services/agent/session.h"
#include "services/base/check.h"

namespace eidolon::agent {
namespace {

// A server that knows every cost and talks to nobody.
class LoneHost final : public SessionHost {
 public:
  CostBook& costs() override { return costs_; }
  clock::Horizon& horizon() override { return horizon_; }
  void SendToNetwork(network::v1::SessionRequest) override {}
  std::optional<CollectiveEstimate> FindEstimate(std::uint64_t,
                                                 const network::v1::Operation&) override {
    return CollectiveEstimate{};
  }
  base::SimTime ClampReady(base::SimTime ready) override { return ready; }
  base::SimTime safe_through() const override { return {}; }
  std::int64_t now_ns() const override { return 0; }
  std::int32_t CommunicatorEntered(Session&, const CommunicatorEntry& entry) override {
    return entry.rank;
  }
  void WorkBegan(Session&, std::uint32_t) override {}
  void IterationEnded(Session&, const iteration::Report&) override { ++iterations; }
  void RequestRefused(Session&) override {}
  void CallRefused(Session&, const std::string&) override {}
  std::uint64_t NewRequest(Session&) override { return 1; }

  void LearnAll() {
    common::v1::Estimate estimate;
    estimate.set_duration_picoseconds(7'000'000);
    estimate.set_source(common::v1::ESTIMATE_SOURCE_MODELLED);
    for (const auto& question : costs_.TakeQuestions(1'000'000)) {
      costs_.Learn(question.entry, estimate);
    }
  }
  std::uint64_t iterations = 0;

 private:
  CostBook costs_{132};
  clock::Horizon horizon_;
};

SessionOptions OneGpu() {
  SessionOptions options;
  options.devices = {{.launch_latency = base::Duration::Microseconds(3),
                      .launch_gap = base::Duration::Microseconds(1),
                      .callback_cost = base::Duration::Microseconds(20),
                      .multiprocessors = 132}};
  return options;
}

// Steps of 1,000 launches of 100 distinct kernels, ended by an optimizer.
void DrainLaunches(benchmark::State& state) {
  LoneHost host;
  host.costs().InternBasis(iteration::Source::kMeasured, 0, "none", 0);
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
}  // namespace eidolon::agent
