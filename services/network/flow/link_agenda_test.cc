#include "services/network/flow/link_agenda.h"

#include <gtest/gtest.h>

#include <vector>

namespace eidolon::network::flow {
namespace {

// Three links that each bind one flow, at levels 30, 10 and 20.
struct LinkAgendaTest : testing::Test {
  LinkAgendaTest() {
    for (std::uint32_t at = 0; at < 3; ++at) {
      const std::vector<Hop> hops = {{.link = at}};
      const FlowTable::Slot slot = table.Add({.work = 1, .hops = hops});
      table.flow(slot).awake = 1;
      table.Bind(slot, 0);
      table.link(at).level = std::vector<std::uint64_t>{30, 10, 20}[at];
    }
  }
  FlowTable table{std::vector<std::uint64_t>{100, 100, 100}};
  LinkAgenda agenda{table};
};

TEST_F(LinkAgendaTest, TheSlowestLinkComesFirst) {
  for (std::uint32_t at = 0; at < 3; ++at) agenda.Mark(at);

  EXPECT_EQ(agenda.Take(), 1u);
  EXPECT_EQ(agenda.Take(), 2u);
  EXPECT_EQ(agenda.Take(), 0u);
  EXPECT_TRUE(agenda.Empty());
}

TEST_F(LinkAgendaTest, ALinkIsOnItOnce) {
  agenda.Mark(0);
  agenda.Mark(0);
  EXPECT_TRUE(table.link(0).queued);

  EXPECT_EQ(agenda.Take(), 0u);
  EXPECT_TRUE(agenda.Empty());
  EXPECT_FALSE(table.link(0).queued);
}

TEST_F(LinkAgendaTest, ALinkThatBindsNobodyAndHasRoomIsSpared) {
  table.Unbind(0);
  agenda.Mark(0);
  EXPECT_TRUE(agenda.Empty());

  table.link(0).foreign = table.link(0).capacity + 1;
  agenda.Mark(0);
  EXPECT_FALSE(agenda.Empty());
}

TEST_F(LinkAgendaTest, ClearingTakesTheMarksAway) {
  for (std::uint32_t at = 0; at < 3; ++at) agenda.Mark(at);

  agenda.Clear();

  EXPECT_TRUE(agenda.Empty());
  for (std::uint32_t at = 0; at < 3; ++at) EXPECT_FALSE(table.link(at).queued);
}

}  // namespace
}  // namespace eidolon::network::flow
