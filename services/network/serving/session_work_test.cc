#include "services/network/serving/session_work.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "services/base/random.h"
#include "services/network/simulation/simulation.h"

namespace eidolon::network::serving {
namespace {

using simulation::Listener;
using simulation::Simulation;

class Silent final : public Listener {
 public:
  void Tell(std::uint64_t, std::uint32_t, const communicator::Notice&) override { ++told; }
  void Ended(collective::Algorithm, collective::Protocol) override {}
  int told = 0;
};

topology::Topology TwoServers() {
  return *topology::Topology::Make({.name = "c",
                                    .servers = 2,
                                    .gpus_per_server = 2,
                                    .gpu = "H100",
                                    .nvlink_generation = 4,
                                    .nvlink_switched = true,
                                    .nics = 2,
                                    .nic_gigabits_per_second = 400,
                                    .nic_latency_microseconds = 0,
                                    .fabric = "leaf-spine",
                                    .oversubscription = 2});
}

// A job of two connected servers.
struct Job {
  Silent listener;
  Simulation simulation{TwoServers(), listener};

  Job() {
    simulation.AddJob(1, {.placement = {0, 1}});
    for (std::uint32_t server : {0u, 1u}) {
      EXPECT_TRUE(simulation.Connect(1, server).has_value());
    }
  }
  base::Result<void> Do(v1::SessionRequest request, std::uint32_t server = 0) {
    return network::serving::Do(request, 1, server, simulation);
  }
};

v1::SessionRequest JoinOf(std::uint32_t server) {
  v1::SessionRequest request;
  auto& join = *request.mutable_join();
  join.set_unique_id("id");
  join.set_size(2);
  join.set_rank(static_cast<std::int32_t>(server));
  join.mutable_member()->set_server(server);
  return request;
}

TEST(SessionWorkTest, RefusesWhatIsNoRequest) {
  Job job;
  EXPECT_EQ(job.Do({}).error().message, "a session message without content");
  v1::SessionRequest hello;
  hello.mutable_hello()->set_job("again");
  EXPECT_EQ(job.Do(hello).error().message, "a session says Hello once");
  v1::SessionRequest issue;
  issue.mutable_issue()->mutable_operation()->set_kind(static_cast<v1::CollectiveKind>(77));
  EXPECT_EQ(job.Do(issue).error().message, "operation of unknown kind 77");
  issue.mutable_issue()->mutable_operation()->set_kind(v1::COLLECTIVE_KIND_ALL_REDUCE);
  issue.mutable_issue()->mutable_operation()->set_size_bytes(std::uint64_t{1} << 60);
  EXPECT_EQ(job.Do(issue).error().message, "an operation of 1152921504606846976 bytes");
  v1::SessionRequest post;
  post.mutable_post()->set_ready_picoseconds(~std::uint64_t{0});
  EXPECT_EQ(job.Do(post).error().message,
            "ready time 18446744073709551615 ps is beyond virtual time");
  v1::SessionRequest join;
  auto& run = *join.mutable_join()->add_members();
  run.set_first(3);
  run.set_step(1);
  run.set_count(0);
  EXPECT_EQ(
      job.Do(join).error().message,
      "a run of 0 ranks from 3 in steps of 1 is not a part of 1048576 ranks in ascending order");
}

TEST(SessionWorkTest, DoesABatchInOrderUpToTheFirstError) {
  Job job;
  ASSERT_TRUE(job.Do(JoinOf(1), 1).has_value());
  v1::SessionRequest batch;
  *batch.mutable_batch()->add_requests() = JoinOf(0);
  batch.mutable_batch()->add_requests();
  auto& late = *batch.mutable_batch()->add_requests()->mutable_horizon();
  late.set_processed(77);

  const auto done = job.Do(batch);

  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message, "a session message without content");
  EXPECT_EQ(job.listener.told, 2) << "the join before it counts";
}

TEST(SessionWorkTest, RefusesABatchWithinABatch) {
  Job job;
  v1::SessionRequest batch;
  batch.mutable_batch()->add_requests()->mutable_batch();

  EXPECT_EQ(job.Do(batch).error().message, "a batch within a batch");
}

// A request with small random numbers, so that calls often meet.
v1::SessionRequest RandomRequest(base::Random& random, std::uint32_t server,
                                 std::uint64_t communicator) {
  v1::SessionRequest request;
  const auto small = [&](std::uint64_t bound) { return random.Below(bound); };
  const auto rank = static_cast<std::int32_t>(small(4)) - 1;
  switch (small(7)) {
    case 0: {
      auto& join = *request.mutable_join();
      join.set_unique_id(std::string(1, static_cast<char>('a' + small(3))));
      join.set_size(static_cast<std::int32_t>(small(4)));
      join.set_rank(rank);
      join.mutable_member()->set_server(server);
      join.mutable_member()->set_device(static_cast<std::uint32_t>(small(2)));
      join.set_ready_picoseconds(random.Next() >> small(64));
      break;
    }
    case 1:
      request.mutable_split()->set_parent(communicator);
      request.mutable_split()->set_parent_rank(rank);
      request.mutable_split()->set_color(static_cast<std::int32_t>(small(3)) - 1);
      break;
    case 2:
    case 3: {
      auto& issue = *request.mutable_issue();
      issue.set_communicator(communicator);
      issue.set_sequence(small(3));
      issue.set_rank(rank);
      issue.set_has_payload(small(2) == 0);
      issue.set_payload(std::string(small(9), 'p'));
      auto& operation = *issue.mutable_operation();
      operation.set_kind(static_cast<v1::CollectiveKind>(small(11)));
      operation.set_data_type(static_cast<std::uint32_t>(small(13)));
      operation.set_root(rank);
      operation.set_size_bytes(random.Next() >> small(64));
      for (std::uint64_t at = small(3); at > 0; --at) {
        auto& transfer = *operation.add_transfers();
        transfer.set_send(small(2) == 0);
        transfer.set_peer(static_cast<std::int32_t>(small(3)) - 1);
        transfer.set_size_bytes(small(2));
        transfer.set_sequence(small(2));
      }
      break;
    }
    case 4:
      request.mutable_post()->set_communicator(communicator);
      request.mutable_post()->set_sequence(small(3));
      request.mutable_post()->set_rank(rank);
      request.mutable_post()->set_ready_picoseconds(random.Next() >> small(64));
      request.mutable_post()->set_point_to_point(small(2) == 0);
      break;
    case 5: {
      auto& horizon = *request.mutable_horizon();
      horizon.set_lower_bound_picoseconds(random.Next() >> small(64));
      horizon.set_processed(small(4));
      horizon.set_quiescent(small(2) == 0);
      horizon.set_wanted_picoseconds(small(3) == 0 ? random.Next() >> small(64) : 0);
      break;
    }
    default:
      request.mutable_leave()->set_communicator(communicator);
      request.mutable_leave()->set_rank(rank);
  }
  return request;
}

// Whatever agents send, the simulation stands and forgets it all in the end.
TEST(SessionWorkTest, SurvivesNonsense) {
  for (std::uint64_t seed = 1; seed <= 800; ++seed) {
    base::Random random(seed);
    Silent listener;
    Simulation simulation(TwoServers(), listener);
    simulation.AddJob(1, {.placement = {0, 1}});
    std::vector<bool> connected(2);
    for (std::uint32_t server : {0u, 1u}) {
      connected[server] = simulation.Connect(1, server).has_value();
    }
    // The number of the first communicator that GPU 0 of server 0 leads, and one of another.
    const std::uint64_t communicators[] = {std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 1,
                                           std::uint64_t{2} << 32};
    for (int step = 0; step < 60; ++step) {
      const auto server = static_cast<std::uint32_t>(random.Below(2));
      if (!connected[server]) continue;
      v1::SessionRequest request = RandomRequest(random, server, communicators[random.Below(3)]);
      const bool fine = Do(request, 1, server, simulation).has_value();
      // An agent's error ends its session; most are let off so that the test goes deep.
      if (!fine && random.Below(20) == 0) {
        simulation.Disconnect(1, server);
        connected[server] = false;
      }
      simulation.Progress();
      if (simulation.Stuck()) simulation.ReportDeadlock();
    }
    simulation.RemoveJob(1);
    ASSERT_EQ(simulation.active_transfers(), 0u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace eidolon::network::serving
