#include "services/controller/kube_host/simulator_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/testing/fake_clock.h"

namespace eidolon::controller::kube_host {
namespace {

using ::testing::ElementsAre;

// A timing service that is away as long as `names` is empty.
class CountingSimulators final : public simulators::Simulators {
 public:
  base::Result<std::vector<std::string>> ListGpus() override {
    ++asked;
    if (names.empty()) return base::Fail(base::ErrorCode::kUnavailable, "away");
    return names;
  }
  base::Result<double> FindPeakFlops(const std::string&) override { return 1e15; }
  base::Result<void> RegisterJob(const std::string&, const job::ResolvedJob&) override {
    return {};
  }
  void RemoveJob(const std::string&) override {}
  std::string timing_address() const override { return ""; }
  std::string network_address() const override { return ""; }

  int asked = 0;
  std::vector<std::string> names;
};

class SimulatorDirectoryTest : public ::testing::Test {
 protected:
  testing::FakeClock clock_;
  std::shared_ptr<CountingSimulators> simulators_ = std::make_shared<CountingSimulators>();
  std::vector<std::string> made_;
  SimulatorDirectory directory_{clock_, [this](const std::string& address) {
                                  made_.push_back(address);
                                  return simulators_;
                                }};
};

TEST_F(SimulatorDirectoryTest, EachAddressIsConnectedToOnce) {
  directory_.At("network-a:1");
  directory_.At("network-b:1");
  directory_.At("network-a:1");

  EXPECT_THAT(made_, ElementsAre("network-a:1", "network-b:1"));
}

TEST_F(SimulatorDirectoryTest, GpusAreAskedForAgainAfterAWhile) {
  simulators_->names = {"H100-SXM5-80GB"};
  EXPECT_THAT(*directory_.KnownGpus(), ElementsAre("H100-SXM5-80GB"));
  simulators_->names = {"B200-SXM-180GB"};
  EXPECT_THAT(*directory_.KnownGpus(), ElementsAre("H100-SXM5-80GB"));
  EXPECT_EQ(simulators_->asked, 1);

  clock_.AdvanceSeconds(31);
  EXPECT_THAT(*directory_.KnownGpus(), ElementsAre("B200-SXM-180GB"));
}

TEST_F(SimulatorDirectoryTest, ATimingServiceThatIsAwayIsAskedEachTime) {
  EXPECT_EQ(directory_.KnownGpus(), std::nullopt);
  EXPECT_EQ(directory_.KnownGpus(), std::nullopt);
  EXPECT_EQ(simulators_->asked, 2);
}

}  // namespace
}  // namespace eidolon::controller::kube_host
