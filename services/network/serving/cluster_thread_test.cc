#include "services/network/serving/cluster_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "services/network/serving/metrics.h"
#include "services/runtime/metrics_page.h"

namespace eidolon::network::serving {
namespace {

class DeafOutlet final : public Outlet {
 public:
  void Send(const communicator::Notice&) override {}
  void Flush() override {}
  void Close(const base::Result<void>&) override {}
};

class ClusterThreadTest : public ::testing::Test {
 protected:
  static topology::Topology TwoServers() {
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

  // A session of server 0.
  ClusterThread::Speaker Connect(std::uint64_t job) {
    ClusterThread::Speaker speaker{.job = job, .outlet = std::make_shared<DeafOutlet>()};
    cluster_.Connect(speaker);
    return speaker;
  }

  runtime::MetricsPage page_;
  Metrics metrics_{page_.registry()};
  base::SystemClock clock_;
  ClusterThread cluster_{TwoServers(), metrics_, clock_};
};

// Its caller holds a lock that every session needs.
TEST_F(ClusterThreadTest, AddingAJobRunsNoWorkOfSessions) {
  cluster_.AddJob(1, {.placement = {0}});
  const ClusterThread::Speaker speaker = Connect(1);
  // A job that takes long enough to add that the session brings work meanwhile.
  constexpr std::uint32_t kRanks = 1 << 16;
  communicator::JobPlan large{.placement = {1}, .ranks_per_server = kRanks};
  large.fold = *folding::Fold::Make({.ranks = kRanks, .live_per_class = kRanks - 1});
  const std::thread::id own = std::this_thread::get_id();
  std::atomic<bool> done = false, ran_here = false;
  std::thread session([&] {
    while (!done) {
      cluster_.Submit(speaker, [&](simulation::Simulation&) -> base::Result<void> {
        if (std::this_thread::get_id() == own) ran_here = true;
        return {};
      });
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });

  for (std::uint64_t job = 2; job < 100; ++job) {
    cluster_.AddJob(job, large);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  done = true;
  session.join();
  cluster_.ReadLinkNames({});  // Comes after all that was submitted.

  EXPECT_FALSE(ran_here);
}

TEST_F(ClusterThreadTest, ASessionFindsTheJobThatWasAddedBeforeIt) {
  for (std::uint64_t job = 1; job < 50; ++job) {
    cluster_.AddJob(job, {.placement = {0}});
    const ClusterThread::Speaker speaker = Connect(job);
    std::promise<void> ran;
    cluster_.Submit(speaker, [&](simulation::Simulation&) -> base::Result<void> {
      ran.set_value();
      return {};
    });
    ASSERT_EQ(ran.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  }
}

}  // namespace
}  // namespace eidolon::network::serving
