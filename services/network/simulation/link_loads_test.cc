// Tests the traffic on the links of a server, of real collectives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "services/network/simulation/simulation.h"

namespace eidolon::network::simulation {
namespace {

using base::SimTime;
using communicator::CommittedNotice;
using communicator::JoinedNotice;
using topology::LinkTier;

constexpr std::uint32_t kGpus = 4;
constexpr std::int64_t kSecondPs = 1'000'000'000'000;

class NoticeKeeper final : public Listener {
 public:
  void Tell(std::uint64_t job, std::uint32_t server, const communicator::Notice& notice) override {
    if (server != 0) return;
    if (const auto* one = std::get_if<JoinedNotice>(&notice))
      communicators[job] = one->communicator;
    if (const auto* one = std::get_if<CommittedNotice>(&notice)) ends[job] = one->finish;
  }
  void Ended(collective::Algorithm, collective::Protocol) override {}

  std::map<std::uint64_t, std::uint64_t> communicators;
  std::map<std::uint64_t, SimTime> ends;
};

// Jobs of two servers each, whose GPUs all-gather across a fabric that is as narrow as it is asked
// to be.
class Jobs {
 public:
  explicit Jobs(double oversubscription) {
    auto topology = topology::Topology::Make({.name = "c",
                                              .servers = 4,
                                              .gpus_per_server = kGpus,
                                              .gpu = "H100-SXM5-80GB",
                                              .nvlink_generation = 4,
                                              .nvlink_switched = true,
                                              .nics = kGpus,
                                              .nic_gigabits_per_second = 400,
                                              .fabric = "leaf-spine",
                                              .oversubscription = oversubscription,
                                              .plan = {.cards_per_leaf = 2 * kGpus}});
    EXPECT_TRUE(topology.has_value()) << topology.error().message;
    simulation_.emplace(std::move(*topology), keeper_);
  }

  void AddJob(std::uint64_t job, std::vector<std::uint32_t> placement) {
    simulation_->AddJob(job, {.placement = std::move(placement)});
    for (std::uint32_t server : {0, 1}) EXPECT_TRUE(simulation_->Connect(job, server));
  }
  template <typename Call>
  void ForAll(const Call& call) {
    for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(2 * kGpus); ++rank) {
      EXPECT_TRUE(call(rank, static_cast<std::uint32_t>(rank) / kGpus));
    }
  }
  void AllGather(std::uint64_t job, std::uint64_t bytes, std::int64_t ready_ps) {
    ForAll([&](std::int32_t rank, std::uint32_t server) {
      return simulation_->Join(job, server, "id", 2 * kGpus,
                               {.request = static_cast<std::uint64_t>(rank),
                                .member = {.global_rank = rank,
                                           .server = server,
                                           .device = static_cast<std::uint32_t>(rank) % kGpus},
                                .rank = rank});
    });
    const std::uint64_t communicator = keeper_.communicators.at(job);
    const communicator::Operation operation = {.kind = collective::Kind::kAllGather,
                                               .data_type = 7,
                                               .count = bytes / 4 / (2 * kGpus),
                                               .bytes = bytes};
    ForAll([&](std::int32_t rank, std::uint32_t server) {
      return simulation_->Issue(
          job, server, {.communicator = communicator, .rank = rank, .operation = operation});
    });
    ForAll([&](std::int32_t rank, std::uint32_t server) {
      return simulation_->Post(job, server,
                               {.communicator = communicator, .rank = rank, .ready = {ready_ps}});
    });
  }
  // Every agent takes note of what it is told and does nothing more.
  void Finish(std::vector<std::uint64_t> jobs) {
    for (const std::uint64_t told : {kGpus, kGpus + 1}) {
      for (const std::uint64_t job : jobs) {
        for (std::uint32_t server : {0, 1}) {
          if (told > kGpus && !keeper_.ends.contains(job)) continue;
          EXPECT_TRUE(
              simulation_->Keep(job, server, {.lower_bound = SimTime::Max(), .processed = told}));
        }
      }
      simulation_->Progress();
    }
  }
  // Bytes over each link.
  static std::vector<double> BytesOf(const LinkLoads& loads) {
    std::vector<double> bytes(loads.links.size(), 0);
    std::vector<LinkLoads::Change> last(loads.links.size());
    for (const LinkLoads::Change& change : loads.changes) {
      LinkLoads::Change& before = last[change.link];
      bytes[change.link] +=
          static_cast<double>(before.bytes_per_second) * (change.at - before.at).Seconds();
      before = change;
    }
    for (const LinkLoads::Change& change : last) EXPECT_EQ(change.bytes_per_second, 0u);
    return bytes;
  }
  static std::uint64_t Busiest(const LinkLoads& loads, LinkTier tier) {
    std::uint64_t most = 0;
    for (const LinkLoads::Change& change : loads.changes) {
      if (loads.links[change.link].tier == tier) most = std::max(most, change.bytes_per_second);
    }
    return most;
  }

  Simulation& simulation() { return *simulation_; }
  SimTime EndOf(std::uint64_t job) const { return keeper_.ends.at(job); }

 private:
  NoticeKeeper keeper_;
  std::optional<Simulation> simulation_;
};

TEST(LinkLoadsTest, TheBytesOfARingCrossEachNicAndGpu) {
  Jobs jobs(/*oversubscription=*/1);
  jobs.AddJob(1, {0, 1});
  jobs.simulation().KeepLoads(1, 0);
  const std::uint64_t bytes = std::uint64_t{1} << 30;
  jobs.AllGather(1, bytes, kSecondPs);
  jobs.Finish({1});

  const auto loads = jobs.simulation().ReadLoads(1, 0, SimTime{}, SimTime::Max());
  ASSERT_TRUE(loads.has_value()) << loads.error().message;
  EXPECT_EQ(loads->links.size(), 4u * kGpus);
  double out = 0;
  double in = 0;
  const std::vector<double> crossed = Jobs::BytesOf(*loads);
  for (std::size_t i = 0; i < crossed.size(); ++i) {
    if (loads->links[i].tier != LinkTier::kNic) continue;
    (loads->links[i].is_inbound ? in : out) += crossed[i];
  }
  // A ring sends all parts but its last one over each cut: 7 of 8. NCCL's own rate is a little
  // above that of these links, and a link carries no more than it can.
  EXPECT_NEAR(out, static_cast<double>(bytes) * 7 / 8, static_cast<double>(bytes) * 0.03);
  EXPECT_NEAR(in, out, out * 1e-9);
  EXPECT_LE(Jobs::Busiest(*loads, LinkTier::kNic), 50'000'000'000u);
  // Nothing moves before it is ready, nor behind its end.
  for (const LinkLoads::Change& change : loads->changes) {
    if (change.bytes_per_second > 0) {
      EXPECT_GT(change.at, SimTime{kSecondPs});
    }
    EXPECT_LE(change.at, jobs.EndOf(1));
  }
}

TEST(LinkLoadsTest, KeepingLoadsChangesNoTime) {
  const auto end = [](bool keep) {
    Jobs run(/*oversubscription=*/1);
    run.AddJob(1, {0, 1});
    run.AddJob(2, {2, 3});
    if (keep) run.simulation().KeepLoads(1, 0);
    if (keep) run.simulation().KeepLoads(2, 1);
    run.AllGather(1, 1 << 28, kSecondPs);
    run.AllGather(2, 1 << 29, kSecondPs + 1'000'000);
    run.Finish({1, 2});
    return std::pair(run.EndOf(1), run.EndOf(2));
  };
  EXPECT_EQ(end(true), end(false));
}

TEST(LinkLoadsTest, AServerThatDidNotAskHasNoLoads) {
  Jobs jobs(/*oversubscription=*/1);
  jobs.AddJob(1, {0, 1});
  jobs.simulation().KeepLoads(1, 0);

  EXPECT_FALSE(jobs.simulation().ReadLoads(1, 1, SimTime{}, SimTime::Max()).has_value());
  EXPECT_FALSE(jobs.simulation().ReadLoads(2, 0, SimTime{}, SimTime::Max()).has_value());
  jobs.simulation().RemoveJob(1);
  EXPECT_FALSE(jobs.simulation().ReadLoads(1, 0, SimTime{}, SimTime::Max()).has_value());
}

// Two jobs whose servers stand below the same two leaves: while both are at work, each gets less of
// the links above, and its NICs show that.
TEST(LinkLoadsTest, WhatAnotherJobTakesIsSeenOnTheNics) {
  const auto rates = [](bool crowded) {
    Jobs run(/*oversubscription=*/4);
    run.AddJob(1, {0, 2});
    run.simulation().KeepLoads(1, 0);
    run.AllGather(1, 1 << 30, kSecondPs);
    if (crowded) {
      run.AddJob(2, {1, 3});
      run.AllGather(2, 1 << 28, kSecondPs);
      run.Finish({1, 2});
    } else {
      run.Finish({1});
    }
    auto loads = run.simulation().ReadLoads(1, 0, SimTime{}, SimTime::Max());
    EXPECT_TRUE(loads.has_value());
    std::vector<std::uint64_t> found;
    for (const LinkLoads::Change& change : loads->changes) {
      const ServerLink& link = loads->links[change.link];
      if (link.tier == LinkTier::kNic && link.number == 0 && !link.is_inbound) {
        found.push_back(change.bytes_per_second);
      }
    }
    return found;
  };
  const std::vector<std::uint64_t> alone = rates(false);
  const std::vector<std::uint64_t> crowded = rates(true);

  ASSERT_EQ(alone.size(), 3u);  // Idle, at work, idle.
  ASSERT_GE(crowded.size(), 4u);
  EXPECT_LT(*std::min_element(crowded.begin() + 1, crowded.end() - 1), alone[1]);
  EXPECT_EQ(crowded[crowded.size() - 2], alone[1]);  // The other has ended.
}

}  // namespace
}  // namespace eidolon::network::simulation
