#include "shim/program/channel/deliveries.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace eidolon::shim::channel {
namespace {

using base::SimTime;
using eidolon::channel::DeliveryTable;
using eidolon::channel::kDeliveries;
using eidolon::channel::kNearPlaces;
using eidolon::channel::Sender;
using time::SentTime;

constexpr std::uint64_t kKey = 77;

SentTime At(std::int64_t ps) {
  return {.time = SimTime{ps}, .start_up = {5}, .sender = Sender::kAsRank};
}

class DeliveriesTest : public ::testing::Test {
 protected:
  std::int64_t Receive(std::uint64_t bytes, std::uint64_t key = kKey) {
    const auto sent = deliveries_.Receive(key, bytes);
    return sent ? sent->time.ps : -1;
  }

  std::unique_ptr<DeliveryTable> table_ = std::make_unique<DeliveryTable>();
  Deliveries deliveries_{table_.get()};
};

TEST_F(DeliveriesTest, AReaderIsWhereItsLastByteWasSent) {
  deliveries_.Send(kKey, 10, At(100));
  deliveries_.Send(kKey, 10, At(200));
  deliveries_.Send(kKey, 10, At(300));

  EXPECT_EQ(Receive(10), 100);
  EXPECT_EQ(Receive(1), 200);
  EXPECT_EQ(Receive(8), 200);
  EXPECT_EQ(Receive(2), 300);
}

TEST_F(DeliveriesTest, WhatTheSenderSaidOfItselfArrives) {
  deliveries_.Send(kKey, 1, At(100));

  const auto sent = deliveries_.Receive(kKey, 1);

  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->start_up, base::Duration{5});
  EXPECT_EQ(sent->sender, Sender::kAsRank);
}

TEST_F(DeliveriesTest, BytesThatWereNotAcceptedAreNotThere) {
  deliveries_.Send(kKey, 10, At(100));
  deliveries_.Send(kKey, 10, At(200));
  deliveries_.TakeBack(kKey, 10);  // The channel was full.
  deliveries_.Send(kKey, 10, At(300));
  deliveries_.TakeBack(kKey, 4);  // It took six.
  deliveries_.Send(kKey, 4, At(400));

  EXPECT_EQ(Receive(10), 100);
  EXPECT_EQ(Receive(6), 300);
  EXPECT_EQ(Receive(4), 400);
}

TEST_F(DeliveriesTest, ASenderThatIsBehindAnotherOneIsNotReadBeforeIt) {
  deliveries_.Send(kKey, 1, At(500));
  deliveries_.Send(kKey, 1, At(300));

  EXPECT_EQ(Receive(1), 500);
  EXPECT_EQ(Receive(1), 500);
}

TEST_F(DeliveriesTest, AReaderFarBehindIsLateRatherThanEarly) {
  const auto messages = static_cast<std::int64_t>(kDeliveries) + 7;
  for (std::int64_t i = 1; i <= messages; ++i) deliveries_.Send(kKey, 1, At(i * 100));

  EXPECT_EQ(Receive(1), 800);  // The oldest that is kept.
  EXPECT_EQ(Receive(7), 800);
  EXPECT_EQ(Receive(1), 900);
}

TEST_F(DeliveriesTest, UnknownChannelsAndBytesThatNobodyNotedCarryNoTimeOfTheirOwn) {
  EXPECT_EQ(Receive(10), -1);

  deliveries_.Send(kKey, 10, At(100));
  EXPECT_EQ(Receive(1000), 100);
  deliveries_.Send(kKey, 10, At(200));
  EXPECT_EQ(Receive(10), 200);
}

TEST_F(DeliveriesTest, AFullNeighbourhoodGivesUpTheChannelThatWasUsedLongestAgo) {
  // All of these begin to look at the same place.
  const auto key = [](std::uint64_t i) { return 1 + i * eidolon::channel::kChannels; };
  for (std::uint64_t i = 0; i < kNearPlaces; ++i) deliveries_.Send(key(i), 1, At(100));
  EXPECT_EQ(Receive(1, key(0)), 100);

  deliveries_.Send(key(kNearPlaces), 1, At(200));

  EXPECT_EQ(Receive(1, key(kNearPlaces)), 200);
  EXPECT_EQ(Receive(1, key(1)), -1);
  EXPECT_EQ(Receive(1, key(0)), 100);
}

TEST_F(DeliveriesTest, APlaceThatADeadProcessHoldsHoldsNobodyUp) {
  deliveries_.Send(kKey, 1, At(100));
  for (auto& channel : table_->channels) {
    if (channel.key == kKey) channel.busy = 1;
  }

  deliveries_.Send(kKey, 1, At(200));
  EXPECT_EQ(Receive(2), 200);
}

TEST_F(DeliveriesTest, ThreadsCountEveryByte) {
  constexpr int kSteps = 2000;
  std::vector<std::thread> threads;
  for (int sender = 0; sender < 2; ++sender) {
    threads.emplace_back([this] {
      for (int i = 0; i < kSteps; ++i) deliveries_.Send(kKey, 2, At(100));
    });
  }
  for (std::thread& thread : threads) thread.join();
  deliveries_.Send(kKey, 1, At(200));

  EXPECT_EQ(Receive(std::uint64_t{2} * kSteps * 2), 100);
  EXPECT_EQ(Receive(1), 200);
}

}  // namespace
}  // namespace eidolon::shim::channel
