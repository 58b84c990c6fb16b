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

TEST(SignalTableTest, ClosingKeepsTheLaterTime) {
  SignalTable table;
  const auto early = table.Add();
  const auto late = table.Add();
  table.Put(early, {.node = 7, .at = {10}});
  table.Put(late, {.node = 7, .at = {90}});

  table.Close(early, 7, {50});
  table.Close(late, 7, {50});

  EXPECT_EQ(table[early].node, 0u);
  EXPECT_EQ(table[early].at, SimTime{50});
  EXPECT_EQ(table[late].at, SimTime{90});
}

TEST(SignalTableTest, LeavesASignalThatMovedOnAlone) {
  SignalTable table;
  const auto slot = table.Add();
  table.Put(slot, {.node = 8, .at = {10}});

  table.Close(slot, 7, {50});

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

TEST(SignalTableTest, NotBeforeRaisesBothTimes) {
  SignalTable table;
  const auto slot = table.Add();
  table.Put(slot, {.at = {10}, .local = {30}});

  table.NotBefore(slot, {20});

  EXPECT_EQ(table[slot].at, SimTime{20});
  EXPECT_EQ(table[slot].local, SimTime{30});
}

}  // namespace
}  // namespace eidolon::agent::device
