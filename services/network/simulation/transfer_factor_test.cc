#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "services/network/simulation/simulation.h"

namespace eidolon::network::simulation {
namespace {

using base::Duration;
using base::SimTime;
using collective::Kind;
using communicator::CommittedNotice;
using communicator::JoinedNotice;

constexpr std::int64_t kVirtualSecond = 1'000'000'000'000;

topology::Topology TwoServers() {
  return *topology::Topology::Make({.name = "c",
                                    .servers = 2,
                                    .gpus_per_server = 4,
                                    .gpu = "H100-SXM5-80GB",
                                    .nvlink_generation = 4,
                                    .nvlink_switched = true,
                                    .nics = 4,
                                    .nic_gigabits_per_second = 400,
                                    .nic_latency_microseconds = 0,
                                    .fabric = "rail-optimised",
                                    .oversubscription = 1});
}

// Records the notices of server 0.
class FactorRecorder final : public Listener {
 public:
  void Tell(std::uint64_t, std::uint32_t server, const communicator::Notice& notice) override {
    if (server != 0) return;
    if (const auto* one = std::get_if<JoinedNotice>(&notice)) joined.push_back(*one);
    if (const auto* one = std::get_if<CommittedNotice>(&notice)) committed.push_back(*one);
  }
  void Ended(collective::Algorithm, collective::Protocol) override {}

  std::vector<JoinedNotice> joined;
  std::vector<CommittedNotice> committed;
};

// The job asks for communication in a tenth of its time, or in none.
TEST(TransferFactorTest, TransfersTakeTheirShareOfTheTimeAndStillWaitForAllRanks) {
  const auto length_of = [](std::uint32_t permille) {
    FactorRecorder recorder;
    Simulation simulation(TwoServers(), recorder);
    simulation.AddJob(1, {.placement = {0, 1}, .transfer_permille = permille});
    for (const std::uint32_t server : {0u, 1u}) {
      const auto rank = static_cast<std::int32_t>(server);
      EXPECT_TRUE(simulation.Connect(1, server));
      EXPECT_TRUE(simulation.Join(
          1, server, "id", 2,
          {.request = 1, .member = {.global_rank = rank, .server = server}, .rank = rank}));
    }
    simulation.Progress();
    const std::uint64_t communicator = recorder.joined.at(0).communicator;
    const communicator::Operation operation = {
        .kind = Kind::kAllReduce, .data_type = 1, .count = 1 << 20, .bytes = 1 << 20};
    for (const std::uint32_t server : {0u, 1u}) {
      const auto rank = static_cast<std::int32_t>(server);
      EXPECT_TRUE(simulation.Issue(
          1, server,
          {.communicator = communicator, .sequence = 0, .rank = rank, .operation = operation}));
      // Rank 1 comes later.
      EXPECT_TRUE(simulation.Post(1, server,
                                  {.communicator = communicator,
                                   .sequence = 0,
                                   .rank = rank,
                                   .ready = {kVirtualSecond + rank}}));
      EXPECT_TRUE(simulation.Keep(1, server, {.lower_bound = SimTime::Max(), .processed = 1}));
    }
    simulation.Progress();
    const CommittedNotice committed = recorder.committed.at(0);
    EXPECT_EQ(committed.start, SimTime{kVirtualSecond + 1});
    const Duration length = committed.finish - committed.start;
    EXPECT_EQ(length, simulation.Estimate(1, communicator, operation)->Total());
    return length.ps;
  };

  const std::int64_t whole = length_of(1000);
  EXPECT_NEAR(static_cast<double>(length_of(100)), static_cast<double>(whole) / 10, 2);
  EXPECT_EQ(length_of(0), 0);
}

}  // namespace
}  // namespace eidolon::network::simulation
