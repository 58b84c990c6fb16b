#include "services/controller/place/job_queue.h"

#include <gtest/gtest.h>

namespace eidolon::controller::place {
namespace {

TEST(JobQueueTest, ServesInOrderUpToTheLimit) {
  JobQueue queue(2);
  for (const int job : {7, 5, 9}) queue.Add(job);

  EXPECT_EQ(queue.TakeNext(), 7);
  EXPECT_EQ(queue.TakeNext(), 5);
  EXPECT_EQ(queue.TakeNext(), std::nullopt);
  EXPECT_EQ(queue.PositionOf(9), 0u);

  queue.Remove(7);
  EXPECT_EQ(queue.TakeNext(), 9);
}

TEST(JobQueueTest, ARemovedJobLeavesItsPlaceToTheNext) {
  JobQueue queue(1);
  for (const int job : {1, 2, 3}) queue.Add(job);

  queue.Remove(2);

  EXPECT_EQ(queue.TakeNext(), 1);
  EXPECT_EQ(queue.PositionOf(3), 0u);
  EXPECT_EQ(queue.waiting(), 1u);
  EXPECT_EQ(queue.running(), 1u);
}

TEST(JobQueueTest, AJobThatStartsAgainComesBeforeAllOthers) {
  JobQueue queue(1);
  for (const int job : {1, 2}) queue.Add(job);
  EXPECT_EQ(queue.TakeNext(), 1);
  queue.Remove(1);

  queue.AddFirst(1);
  queue.AddFirst(1);

  EXPECT_EQ(queue.waiting(), 2u);
  EXPECT_EQ(queue.TakeNext(), 1);
  EXPECT_EQ(queue.PositionOf(2), 0u);
}

TEST(JobQueueTest, AddingTwiceChangesNothing) {
  JobQueue queue(1);
  queue.Add(1);
  queue.Add(1);

  EXPECT_EQ(queue.TakeNext(), 1);
  queue.Add(1);
  EXPECT_EQ(queue.waiting(), 0u);
}

}  // namespace
}  // namespace eidolon::controller::place
