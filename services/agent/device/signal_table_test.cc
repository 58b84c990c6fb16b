#include "services/agent/device/signal_table.h"

#include <gtest/gtest.h>

namespace eidolon::agent::device {
namespace {

using base::SimTime;

TEST(SignalTableTest, ANewSlotIsCompleteAtTimeZero) {
  SignalTable table;

  const auto slot = table.Add();

  EXPECT_EQ(table[slot].node, 0u);
  EXPECT_EQ(table[slot].at, SimTime{});
}

TEST(SignalTableTest, ClosingKeepsTheLaterTimeAndItsSource) {
  SignalTable table;
  const auto early = table.Add();
  const auto late = table.Add();
  table.Put(early, {.node = 7, .at = {10}, .source = 1});
  table.Put(late, {.node = 7, .at = {90}, .source = 2});

  table.Close(early, {.node = 7, .at = {50}, .source = 3});
  table.Close(late, {.node = 7, .at = {50}, .source = 3});

  EXPECT_EQ(table[early].node, 0u);
  EXPECT_EQ(table[early].at, SimTime{50});
  EXPECT_EQ(table[early].source, 3u);
  EXPECT_EQ(table[late].at, SimTime{90});
  EXPECT_EQ(table[late].source, 2u);
}

TEST(SignalTableTest, OfEndsAtOneTimeTheLaterSourceCounts) {
  SignalTable table;
  const auto first = table.Add();
  const auto second = table.Add();
  table.Put(first, {.node = 7, .at = {50}, .source = 2});
  table.Put(second, {.node = 7, .at = {50}, .source = 4});

  table.Close(first, {.node = 7, .at = {50}, .source = 3});
  table.Close(second, {.node = 7, .at = {50}, .source = 3});

  EXPECT_EQ(table[first].source, 3u);
  EXPECT_EQ(table[second].source, 4u);
}

TEST(SignalTableTest, ARaisedBoundFollowsFromItsNode) {
  SignalTable table;
  const auto slot = table.Add();
  table.Put(slot, {.node = 7, .at = {10}, .source = 9});

  table.Raise(slot, {.node = 8, .at = {90}, .source = 5});
  table.Raise(slot, {.node = 7, .at = {50}, .source = 3});

  EXPECT_EQ(table[slot].at, SimTime{50});
  EXPECT_EQ(table[slot].source, 3u);
}

TEST(SignalTableTest, LeavesASignalThatMovedOnAlone) {
  SignalTable table;
  const auto slot = table.Add();
  table.Put(slot, {.node = 8, .at = {10}});

  table.Close(slot, {.node = 7, .at = {50}, .source = 3});

  EXPECT_EQ(table[slot].node, 8u);
  EXPECT_EQ(table[slot].at, SimTime{10});
}

TEST(SignalTableTest, GivesAReleasedSlotOutAgainWithoutItsPast) {
  SignalTable table;
  const auto slot = table.Add();
  table.Put(slot, {.node = 8, .at = {10}, .local = {11}});
  table.Release(slot);

  EXPECT_EQ(table.Add(), slot);
  EXPECT_EQ(table[slot].node, 0u);
  EXPECT_EQ(table[slot].at, SimTime{});
  EXPECT_EQ(table[slot].local, SimTime{});
}

TEST(SignalTableTest, NotBeforeRaisesBothTimesWhichThenFollowFromNoOperation) {
  SignalTable table;
  const auto slot = table.Add();
  table.Put(slot, {.at = {10}, .local = {30}, .source = 4});

  table.NotBefore(slot, {20});

  EXPECT_EQ(table[slot].at, SimTime{20});
  EXPECT_EQ(table[slot].local, SimTime{30});
  EXPECT_EQ(table[slot].source, 0u);
}

}  // namespace
}  // namespace eidolon::agent::device
