// Events a second of a folded job: 16,384 GPUs, tensor parallel 8 inside each server, 16 stages of
// a pipeline, data parallel 128, with one live rank a stage. Every transfer of a live rank is also
// that of 1,023 mirrored ranks over links of their own (a stage's send), or of 7 (a data-parallel
// ring).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "services/network/simulation/simulation.h"

namespace eidolon::network::simulation {
namespace {

constexpr std::uint32_t kTensor = 8;
constexpr std::uint32_t kStages = 16;
constexpr std::uint32_t kData = 128;
constexpr std::uint32_t kServers = kStages * kData;

void Must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "folded_bench: %s failed\n", what);
  std::abort();
}

class Hearer final : public Listener {
 public:
  void Tell(std::uint64_t, std::uint32_t server, const communicator::Notice& notice) override {
    if (const auto* joined = std::get_if<communicator::JoinedNotice>(&notice)) {
      ++processed[server];
      communicator = joined->communicator;
    }
    if (const auto* committed = std::get_if<communicator::CommittedNotice>(&notice)) {
      ++processed[server];
      latest = std::max(latest, committed->finish);
    }
  }
  void Ended(collective::Algorithm, collective::Protocol) override {}

  // Counts of each server, as its promises count them (horizon::Promise).
  std::vector<std::uint64_t> processed = std::vector<std::uint64_t>(kServers);
  std::uint64_t communicator = 0;  // The one that was joined last.
  base::SimTime latest;
};

// The job: stage s is live as rank 8 s, alone on server s.
class Pipeline {
 public:
  explicit Pipeline(double oversubscription)
      : simulation_(*topology::Topology::Make({.name = "c",
                                               .servers = kServers,
                                               .gpus_per_server = kTensor,
                                               .gpu = "H100",
                                               .nvlink_generation = 4,
                                               .nvlink_switched = true,
                                               .nics = 8,
                                               .nic_gigabits_per_second = 400,
                                               .fabric = "rail-optimised",
                                               .oversubscription = oversubscription}),
                    hearer_) {
    auto fold = folding::Fold::Make({.ranks = kServers * kTensor,
                                     .dimensions = {{.stride = kTensor, .size = kStages}},
                                     .live_per_class = 1});
    Must(fold.has_value() && fold->live().size() == kStages, "folding");
    communicator::JobPlan plan{.fold = *fold, .ranks_per_server = kTensor};
    plan.placement.resize(kServers);
    std::iota(plan.placement.begin(), plan.placement.end(), 0u);
    simulation_.AddJob(1, std::move(plan));
    for (std::uint32_t stage = 0; stage < kStages; ++stage) {
      Must(simulation_.Connect(1, stage).has_value(), "connecting");
    }
    std::vector<std::uint32_t> stages;
    for (std::uint32_t stage = 0; stage < kStages; ++stage) stages.push_back(stage * kTensor);
    for (std::uint32_t stage = 0; stage < kStages; ++stage) Join(stage, stage, stages);
    pipeline_ = hearer_.communicator;
    for (std::uint32_t stage = 0; stage < kStages; ++stage) {
      std::vector<std::uint32_t> copies;
      for (std::uint32_t copy = 0; copy < kData; ++copy) {
        copies.push_back((copy * kStages + stage) * kTensor);
      }
      Join(stage, 0, copies);
      data_.push_back(hearer_.communicator);
    }
  }

  // Every stage sends to the next, and all gather a bucket of parameters, in the same moment.
  void Round() {
    const base::SimTime ready{hearer_.latest.ps + 1'000'000};
    for (std::uint32_t stage = 0; stage < kStages; ++stage) {
      communicator::Operation step{.kind = collective::Kind::kPointToPoint};
      const auto rank = static_cast<std::int32_t>(stage);
      constexpr std::uint64_t kBytes = 32 << 20;
      if (stage > 0) {
        step.transfers.push_back(
            {.send = false, .peer = rank - 1, .bytes = kBytes, .sequence = round_});
      }
      if (stage + 1 < kStages) {
        step.transfers.push_back(
            {.send = true, .peer = rank + 1, .bytes = kBytes, .sequence = round_});
      }
      Call(stage, {.communicator = pipeline_, .rank = rank, .operation = std::move(step)}, ready);
      Call(stage,
           {.communicator = data_[stage],
            .rank = 0,
            .operation = {.kind = collective::Kind::kAllGather,
                          .data_type = 9,
                          .count = 1 << 20,
                          .bytes = std::uint64_t{kData} << 21}},
           ready);
    }
    const base::SimTime before = hearer_.latest;
    do {
      for (std::uint32_t stage = 0; stage < kStages; ++stage) {
        Must(simulation_
                 .Keep(1, stage,
                       {.lower_bound = base::SimTime::Max(), .processed = hearer_.processed[stage]})
                 .has_value(),
             "promising");
      }
      simulation_.Progress();
    } while (simulation_.active_transfers() > 0);
    Must(hearer_.latest > before, "committing");
    ++round_;
  }

  std::uint64_t events() const { return simulation_.statistics().events; }

 private:
  void Join(std::uint32_t server, std::uint32_t rank, const std::vector<std::uint32_t>& members) {
    const auto size = static_cast<std::int32_t>(members.size());
    Must(simulation_
             .Join(1, server, "id", size,
                   {.member = {.global_rank = static_cast<std::int32_t>(server * kTensor),
                               .server = server},
                    .rank = static_cast<std::int32_t>(rank),
                    .members = members})
             .has_value(),
         "joining");
  }

  void Call(std::uint32_t server, communicator::IssueCall call, base::SimTime ready) {
    call.sequence = round_;
    const communicator::PostCall post{
        .communicator = call.communicator,
        .sequence = call.sequence,
        .rank = call.rank,
        .point_to_point = call.operation.kind == collective::Kind::kPointToPoint,
        .ready = ready};
    Must(simulation_.Issue(1, server, std::move(call)).has_value(), "issuing");
    Must(simulation_.Post(1, server, post).has_value(), "posting");
  }

  Hearer hearer_;
  Simulation simulation_;
  std::uint64_t pipeline_ = 0;
  std::vector<std::uint64_t> data_;  // By stage.
  std::uint64_t round_ = 0;
};

// Items are flow events: the beginning and the end of each transfer, those of mirrored ranks among
// them.
void FoldedPipeline(benchmark::State& state) {
  Pipeline pipeline(static_cast<double>(state.range(0)));
  const std::uint64_t before = pipeline.events();
  for (auto _ : state) pipeline.Round();
  state.SetItemsProcessed(static_cast<std::int64_t>(pipeline.events() - before));
}
BENCHMARK(FoldedPipeline)
    ->Arg(1)
    ->Arg(2)
    ->ArgName("oversubscription")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace eidolon::network::simulation
