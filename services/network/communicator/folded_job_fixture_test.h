// A folded job of four servers with four GPUs each, for its tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "services/network/communicator/element.h"
#include "services/network/communicator/job.h"
#include "services/network/communicator/recorder_test.h"

namespace eidolon::network::communicator {

// Ranks 0 and 15 of 16 are live.
class FoldedJobTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kServers = 4;
  static constexpr std::uint32_t kPerServer = 4;
  static constexpr std::uint32_t kRanks = kServers * kPerServer;

  static std::vector<std::uint32_t> World() {
    std::vector<std::uint32_t> ranks(kRanks);
    std::iota(ranks.begin(), ranks.end(), 0u);
    return ranks;
  }

  static topology::Topology MakeTopology() {
    return *topology::Topology::Make({.name = "c",
                                      .servers = kServers,
                                      .gpus_per_server = kPerServer,
                                      .gpu = "H100-SXM5-80GB",
                                      .nvlink_generation = 4,
                                      .nvlink_switched = true,
                                      .nics = kPerServer,
                                      .nic_gigabits_per_second = 400,
                                      .nic_latency_microseconds = 0,
                                      .fabric = "rail-optimised",
                                      .oversubscription = 1});
  }

  static JobPlan PlanOf(std::vector<std::uint32_t> live) {
    JobPlan plan{.placement = {0, 1, 2, 3}, .ranks_per_server = kPerServer};
    auto fold =
        folding::Fold::Make({.ranks = kRanks, .live_per_class = 1, .live = std::move(live)});
    EXPECT_TRUE(fold.has_value()) << fold.error().message;
    plan.fold = fold.value_or(folding::Fold());
    return plan;
  }

  FoldedJobTest()
      : topology_(MakeTopology()), job_(7, topology_, PlanOf({0, kRanks - 1}), recorder_) {}

  static std::uint32_t ServerOf(std::uint32_t rank) { return rank / kPerServer; }

  // `rank`, a live one, as a member of a communicator of `members`.
  static Arrival Arriving(std::uint32_t rank, std::vector<std::uint32_t> members) {
    const auto place = std::ranges::find(members, rank) - members.begin();
    return {.request = 100 + rank,
            .member = {.global_rank = static_cast<std::int32_t>(rank),
                       .server = ServerOf(rank),
                       .device = rank % kPerServer},
            .rank = static_cast<std::int32_t>(place),
            .ready = base::SimTime{10 + rank},
            .name = "world",
            .members = std::move(members)};
  }

  std::uint64_t JoinWorld() {
    for (const std::uint32_t rank : {0u, kRanks - 1}) {
      EXPECT_TRUE(job_.Join(ServerOf(rank), "id", kRanks, Arriving(rank, World())).has_value());
    }
    const auto joined = recorder_.All<JoinedNotice>(0);
    return joined.empty() ? 0 : joined.back().communicator;
  }

  IssueCall Gathering(std::uint64_t communicator, std::int32_t rank, Payload payload) {
    return {.communicator = communicator,
            .rank = rank,
            .operation = {.kind = Kind::kAllGather,
                          .data_type = kInt64,
                          .count = 1,
                          .bytes = 8 * kRanks},
            .payload = std::move(payload)};
  }

  static std::string Bytes(std::int64_t value) {
    std::string bytes(sizeof(value), '\0');
    std::memcpy(bytes.data(), &value, sizeof(value));
    return bytes;
  }

  topology::Topology topology_;
  Recorder recorder_;
  Job job_;
};

}  // namespace eidolon::network::communicator
