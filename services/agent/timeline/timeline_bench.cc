// Measures the cost of a timeline: recording an operation while a job runs, and writing the trace
// at its end.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "eidolon/common/v1/common.pb.h"
#include "services/agent/timeline/recorder.h"
#include "services/agent/timeline/render.h"
#include "services/agent/timeline/trace_writer.h"
#include "services/base/text.h"
#include "services/contract/workload/work.h"

namespace eidolon::agent::timeline {
namespace {

namespace wire = ::eidolon::ring;
using base::SimTime;

constexpr std::uint32_t kKernels = 400;  // Distinct launches of a step of a large model.
constexpr std::uint64_t kCollectiveEvery = 16;

std::uint32_t AddKernel(cost::CostCache* costs, std::uint32_t number) {
  const std::string name =
      base::StrCat("_ZN2at6native29vectorized_elementwise_kernelILi", number, "EfEEvPT0_f");
  std::vector<std::byte> bytes((sizeof(workload::Kernel) + name.size() + 7) / 8 * 8);
  workload::Kernel work{};
  work.header = {.kind = workload::WorkKind::kKernel,
                 .bytes = static_cast<std::uint32_t>(bytes.size())};
  work.grid = {number + 1, 1, 1};
  work.block = {128, 1, 1};
  work.name_bytes = static_cast<std::uint32_t>(name.size());
  std::memcpy(bytes.data(), &work, sizeof(work));
  std::memcpy(bytes.data() + sizeof(work), name.data(), name.size());
  common::v1::Estimate estimate;
  estimate.set_source(common::v1::ESTIMATE_SOURCE_MODELLED);
  estimate.set_relative_error(0.125F);
  estimate.set_family("elementwise");
  const std::uint32_t entry = costs->Intern(bytes);
  costs->Learn(entry, estimate);
  return entry;
}

cost::CostCache MakeCosts() {
  cost::CostCache costs(132);
  costs.InternBasis(estimate::Source::kMeasured, 0, "none", costs.InternName("none"));
  for (std::uint32_t i = 0; i < kKernels; ++i) AddKernel(&costs, i);
  return costs;
}

// Numbers that differ from rank to rank.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::int64_t Below(std::int64_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>(state_ >> 33) % limit;
  }

 private:
  std::uint64_t state_;
};

// One iteration of `operations` operations of some 8 us, each with its call: nothing is like
// before.
void Fill(Recorder* recorder, std::uint64_t operations, std::uint32_t name, Noise noise) {
  std::int64_t time = 0;
  for (std::uint64_t i = 0; i < operations; ++i) {
    const std::int64_t length = 2'000'000 + noise.Below(12'000'000);
    const bool is_collective = i % kCollectiveEvery == 0;
    recorder->NoteCall(is_collective ? HostCall::kCommunication : HostCall::kLaunch,
                       {.sequence = i, .host_clock = SimTime{time / 2}}, 1);
    const device::ResolvedOp op{
        .sequence = i,
        .stream = is_collective ? 20u : 7u,
        .device = 0,
        .kind = is_collective ? device::OpKind::kCollective : device::OpKind::kWork,
        .host_bound = false,
        .tag = static_cast<std::uint32_t>(noise.Below(kKernels)),
        .ready = SimTime{time},
        .start = SimTime{time},
        .finish = SimTime{time + length}};
    if (is_collective) {
      recorder->NoteCollective(op, {.name = name, .communicator = 1, .call = i, .bytes = 1 << 20});
    } else {
      recorder->NoteOperation(op);
    }
    time += length;
  }
  recorder->EndIteration(
      {.index = 0, .sequence_end = operations, .start = {}, .end = SimTime{time}, .split = {}});
  recorder->Close(operations, SimTime{time});
}

void BM_RecordOperation(benchmark::State& state) {
  for (auto _ : state) {
    Recorder recorder({.first = 0, .iterations = 1, .operations_max = 1'000'000});
    Fill(&recorder, 100'000, 0, Noise(1));
    benchmark::DoNotOptimize(recorder);
  }
  state.SetItemsProcessed(state.iterations() * 100'000);
}
BENCHMARK(BM_RecordOperation)->Unit(benchmark::kMillisecond);

// Kernels of a step: 32 layers forward, 32 backward, the optimizer.
std::vector<std::uint32_t> StepOfLayers() {
  Noise kernels(7);
  std::vector<std::uint32_t> forward, backward, step;
  for (int i = 0; i < 44; ++i) forward.push_back(static_cast<std::uint32_t>(kernels.Below(60)));
  for (int i = 0; i < 78; ++i)
    backward.push_back(static_cast<std::uint32_t>(60 + kernels.Below(80)));
  for (const auto* layer : {&forward, &backward}) {
    for (int i = 0; i < 32; ++i) step.insert(step.end(), layer->begin(), layer->end());
  }
  for (std::uint32_t i = 0; i < 96; ++i) step.push_back(340 + i % 3);
  return step;
}

// The same step again and again, its host as far ahead as that of a program that waits for its
// loss. `is_noisy`: the host's times are measured ones and collectives wait for each other; else
// they are of a fixed host model.
void FillSteps(Recorder* recorder, std::uint64_t operations, std::uint32_t name, Noise noise,
               bool is_noisy) {
  static const std::vector<std::uint32_t> kStep = StepOfLayers();
  std::int64_t host = 0, device = 0;
  for (std::uint64_t i = 0; i < operations; ++i) {
    const std::uint32_t kernel = kStep[i % kStep.size()];
    if (i % kStep.size() == 0) host = std::max(host, device) + 20'000'000;
    const bool is_collective = kernel % 23 == 5;
    recorder->NoteCall(is_collective ? HostCall::kCommunication : HostCall::kLaunch,
                       {.sequence = i, .host_clock = SimTime{host}}, 1);
    const std::int64_t start = std::max(device, host + 4'000'000);
    std::int64_t length = 2'000'000 + kernel * 7'919 % 97 * 123'457;
    if (is_noisy && is_collective) length += noise.Below(500'000);
    host += 4'000'000 + kernel * 104'729 % 89 * 56'789 + (is_noisy ? noise.Below(2'400'000) : 0);
    device = start + length;
    const device::ResolvedOp op{
        .sequence = i,
        .stream = is_collective ? 20u : 7u,
        .device = 0,
        .kind = is_collective ? device::OpKind::kCollective : device::OpKind::kWork,
        .host_bound = false,
        .tag = kernel,
        .ready = SimTime{start},
        .start = SimTime{start},
        .finish = SimTime{device}};
    if (is_collective) {
      recorder->NoteCollective(op, {.name = name, .communicator = 1, .call = i, .bytes = 1 << 20});
    } else {
      recorder->NoteOperation(op);
    }
  }
  recorder->EndIteration(
      {.index = 0, .sequence_end = operations, .start = {}, .end = SimTime{device}, .split = {}});
  recorder->Close(operations, SimTime{device});
}

enum Program : std::int64_t { kRandom = 0, kFixedHost = 1, kMeasuredHost = 2 };

// 64 ranks with a million operations together; one server of eight whose ranks have a million each.
void BM_WriteTimeline(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const auto operations = static_cast<std::uint64_t>(state.range(1)) / ranks;
  cost::CostCache costs = MakeCosts();
  const std::uint32_t name = costs.InternName("COLLECTIVE_KIND_ALL_REDUCE");
  std::vector<std::unique_ptr<Recorder>> recorders;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    recorders.push_back(std::make_unique<Recorder>(
        Rule{.first = 0, .iterations = 1, .operations_max = operations}));
    if (state.range(2) == kRandom) {
      Fill(recorders.back().get(), operations, name, Noise(rank));
    } else {
      FillSteps(recorders.back().get(), operations, name, Noise(rank),
                state.range(2) == kMeasuredHost);
    }
  }
  const std::string path =
      (std::filesystem::temp_directory_path() / "timeline_bench.pftrace").string();
  for (auto _ : state) {
    TraceWriter writer(path, 1);
    writer.AddProcess({.uuid = ServerTrack(0), .pid = 1, .name = "server 0"});
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      Render(*recorders[rank],
             {.server = 0,
              .process = rank,
              .rank = static_cast<std::int32_t>(rank),
              .costs = &costs,
              .plain = [](const std::string& text) { return text; }},
             &writer);
    }
    if (!writer.Finish()) state.SkipWithError("the timeline was not written");
  }
  const auto total = static_cast<double>(operations) * ranks;
  const auto bytes = static_cast<double>(std::filesystem::file_size(path));
  state.SetItemsProcessed(static_cast<std::int64_t>(total) * state.iterations());
  state.counters["file_bytes"] = bytes;
  state.counters["bytes_per_operation"] = bytes / total;
  std::filesystem::remove(path);
}
BENCHMARK(BM_WriteTimeline)
    ->Args({64, 1'000'000, kRandom})
    ->Args({64, 1'000'000, kFixedHost})
    ->Args({64, 1'000'000, kMeasuredHost})
    ->Args({8, 8'000'000, kFixedHost})
    ->Args({8, 8'000'000, kMeasuredHost})
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace eidolon::agent::timeline
