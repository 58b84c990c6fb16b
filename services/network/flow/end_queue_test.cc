#include "services/network/flow/end_queue.h"

#include <gtest/gtest.h>

#include <map>

#include "services/base/random.h"

namespace eidolon::network::flow {
namespace {

TEST(EndQueueTest, TheEarliestIsInFront) {
  EndQueue queue(3);
  queue.Put(0, {30});
  queue.Put(1, {10});
  queue.Put(2, {20});

  EXPECT_EQ(queue.Front().id, 1u);
  EXPECT_EQ(queue.Front().at.ps, 10);
}

TEST(EndQueueTest, WhatIsPutAgainMovesBothWays) {
  EndQueue queue(2);
  queue.Put(0, {10});
  queue.Put(1, {20});

  queue.Put(0, {30});
  EXPECT_EQ(queue.Front().id, 1u);
  queue.Put(0, {5});
  EXPECT_EQ(queue.Front().id, 0u);
}

TEST(EndQueueTest, RemovingWhatIsAbsentDoesNothing) {
  EndQueue queue(2);
  queue.Put(0, {10});

  queue.Remove(1);
  queue.Remove(99);

  EXPECT_TRUE(queue.Contains(0));
  EXPECT_FALSE(queue.Contains(1));
}

TEST(EndQueueTest, NumbersBeyondTheExpectedMakeItGrow) {
  EndQueue queue;
  queue.Put(1000, {1});

  EXPECT_TRUE(queue.Contains(1000));
  EXPECT_FALSE(queue.Contains(999));
}

TEST(EndQueueTest, AgreesWithASortedMapWhateverHappens) {
  base::Random random(11);
  EndQueue queue(50);
  std::map<std::uint32_t, std::int64_t> ends;
  for (int step = 0; step < 20'000; ++step) {
    const auto id = static_cast<std::uint32_t>(random.Below(200));
    if (random.Below(3) == 0) {
      queue.Remove(id);
      ends.erase(id);
    } else {
      ends[id] = static_cast<std::int64_t>(random.Below(1000));
      queue.Put(id, {ends[id]});
    }
    ASSERT_EQ(queue.Empty(), ends.empty());
    if (ends.empty()) continue;
    std::int64_t least = ends.begin()->second;
    for (const auto& [other, at] : ends) least = std::min(least, at);
    ASSERT_EQ(queue.Front().at.ps, least);
    ASSERT_EQ(ends.at(queue.Front().id), least);
  }
}

}  // namespace
}  // namespace eidolon::network::flow
