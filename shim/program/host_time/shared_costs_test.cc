#include "shim/program/host_time/shared_costs.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace eidolon::shim::host_time {
namespace {

constexpr std::uint64_t kSharedPlace = 0x12345;
constexpr std::uint64_t kSharedMicrosecond = 1'000'000;

class SharedCostsTest : public ::testing::Test {
 protected:
  // Returns what a process is told that adds a sample.
  double Add(SharedCosts& costs, std::uint64_t microseconds, std::uint64_t place = kSharedPlace) {
    return costs.Add(place, EncodeSample(microseconds * kSharedMicrosecond)) / kSharedMicrosecond;
  }

  std::unique_ptr<ring::SharedHostCost[]> rows_{
      std::make_unique<ring::SharedHostCost[]>(ring::kSharedHostCosts)};
  SharedCosts one_{rows_.get()}, other_{rows_.get()};
};

TEST_F(SharedCostsTest, NobodyKnowsAPlaceOfFewSamples) {
  EXPECT_EQ(one_.LowOfAll(kSharedPlace), 0);
  for (std::uint32_t i = 1; i < SharedCosts::kEnough; ++i) EXPECT_EQ(Add(one_, 10), 0);

  EXPECT_NEAR(Add(other_, 10), 10, 0.1);
  EXPECT_NEAR(one_.LowOfAll(kSharedPlace) / kSharedMicrosecond, 10, 0.1);
}

TEST_F(SharedCostsTest, SamplesOfAllCountTogetherAndTheLowOnesTell) {
  for (std::uint64_t i = 0; i < 12; ++i) {
    Add(one_, 30 + i);
    Add(other_, 20 + i);
  }
  EXPECT_NEAR(Add(one_, 40), 21, 0.3);
}

TEST_F(SharedCostsTest, LongStretchesTellTheirMedian) {
  for (std::uint64_t i = 0; i < 12; ++i) {
    Add(one_, 5000);
    Add(other_, 6000);
  }
  EXPECT_NEAR(Add(one_, 6000), 6000, 50);
}

TEST_F(SharedCostsTest, OldSamplesMakeRoom) {
  for (int i = 0; i < 24; ++i) Add(one_, 10);
  double low = 0;
  for (int i = 0; i < 300; ++i) low = Add(other_, 30);

  EXPECT_NEAR(low, 30, 0.3);
}

TEST_F(SharedCostsTest, PlacesAreKeptApart) {
  int known = 0;
  for (std::uint64_t place = 1; place < 2000; place += 2) {
    for (int i = 0; i < 4; ++i) Add(one_, place, place);
    const double low = other_.LowOfAll(place) / kSharedMicrosecond;
    if (low == 0) continue;
    ++known;
    EXPECT_NEAR(low, static_cast<double>(place), 0.01 * static_cast<double>(place));
  }
  EXPECT_EQ(known, 1000);
}

TEST_F(SharedCostsTest, WithoutRoomNobodyKnowsThePlace) {
  for (std::uint64_t place = 1; place < 400'000; place += 2) Add(one_, 1, place);

  double known = 0;
  for (int i = 0; i < 10; ++i) known += Add(one_, 5, 1'000'001);
  EXPECT_EQ(known, 0);
}

TEST_F(SharedCostsTest, WorkOfNoLengthIsKnown) {
  for (int i = 0; i < 8; ++i) Add(one_, 0);
  EXPECT_GT(one_.LowOfAll(kSharedPlace), 0);
}

TEST_F(SharedCostsTest, ProcessesMayAddSideBySide) {
  {
    std::vector<std::jthread> processes;
    for (int process = 0; process < 4; ++process) {
      processes.emplace_back([this] {
        SharedCosts costs(rows_.get());
        for (int round = 0; round < 20; ++round) {
          for (std::uint64_t place = 1; place < 500; place += 2) Add(costs, 10, place);
        }
      });
    }
  }
  for (std::uint64_t place = 1; place < 500; place += 2) {
    EXPECT_NEAR(one_.LowOfAll(place) / kSharedMicrosecond, 10, 0.1);
  }
}

}  // namespace
}  // namespace eidolon::shim::host_time
