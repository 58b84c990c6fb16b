#include "services/network/flow/finish_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace eidolon::network::flow {
namespace {

using base::SimTime;
using Seat = FinishOrder::Seat;
using Slot = FinishOrder::Slot;

// An order of two groups whose levels and seats the test sets.
class FinishOrderTest : public testing::Test {
 protected:
  void Enter(Slot slot, Work left, Seat seat) {
    order_.Enter(slot, left);
    seats_[slot] = seat;
  }
  void SetLevel(std::uint32_t group, std::uint64_t level) {
    order_.Touch(group);
    levels_[group] = level;
  }
  void Gather() {
    order_.Gather([&](std::uint32_t group) { return levels_[group]; },
                  [&](Slot slot) { return seats_.at(slot); });
  }
  std::vector<Slot> AdvanceTo(SimTime time) {
    std::vector<Slot> finished;
    order_.AdvanceTo(time, finished);
    return finished;
  }

  FinishOrder order_{2};
  std::map<std::uint32_t, std::uint64_t> levels_;
  std::map<Slot, Seat> seats_;
};

TEST_F(FinishOrderTest, AGroupEndsInOrderOfWorkWhateverItsLevelDoes) {
  SetLevel(0, 10);
  Enter(0, 2000, {.group = 0});
  Enter(1, 1000, {.group = 0});
  Gather();
  ASSERT_EQ(order_.Next(), SimTime{100});

  EXPECT_THAT(AdvanceTo({50}), testing::IsEmpty());
  SetLevel(0, 5);
  Gather();

  ASSERT_EQ(order_.Next(), SimTime{150});
  EXPECT_THAT(AdvanceTo({150}), testing::ElementsAre(1u));
  EXPECT_EQ(order_.Next(), SimTime{350});
}

TEST_F(FinishOrderTest, AFlowAloneEndsByItsOwnLevelRoundedUp) {
  Enter(0, 1001, {.level = 10});
  Gather();

  EXPECT_EQ(order_.Next(), SimTime{101});
  EXPECT_THAT(AdvanceTo({101}), testing::ElementsAre(0u));
  EXPECT_EQ(order_.Next(), std::nullopt);
}

TEST_F(FinishOrderTest, AFlowThatChangesItsSeatTakesAlongWhatIsLeft) {
  SetLevel(0, 10);
  SetLevel(1, 100);
  Enter(0, 1000, {.group = 0});
  Gather();
  AdvanceTo({40});
  EXPECT_EQ(order_.LeftOf(0, seats_.at(0)), Work{600});

  order_.Loosen(0, seats_.at(0));
  EXPECT_TRUE(order_.IsLoose(0));
  seats_[0] = {.group = 1};
  Gather();

  EXPECT_FALSE(order_.IsLoose(0));
  EXPECT_EQ(order_.LeftOf(0, seats_.at(0)), Work{600});
  EXPECT_EQ(order_.Next(), SimTime{46});
}

TEST_F(FinishOrderTest, AGroupThatStandsStillNeverEnds) {
  SetLevel(0, 10);
  Enter(0, 1000, {.group = 0});
  Gather();
  SetLevel(0, 0);
  Gather();

  EXPECT_EQ(order_.Next(), std::nullopt);
}

TEST_F(FinishOrderTest, AFlowThatIsDroppedIsForgotten) {
  SetLevel(0, 10);
  Enter(0, 1000, {.group = 0});
  Enter(1, 3000, {.group = 0});
  Gather();

  order_.Drop(0, seats_.at(0));
  Gather();

  EXPECT_EQ(order_.Next(), SimTime{300});
}

TEST_F(FinishOrderTest, AFlowThatIsDroppedWhileLooseIsNotSeated) {
  Enter(0, 1000, {.level = 10});
  order_.Drop(0, {});
  Gather();

  EXPECT_EQ(order_.Next(), std::nullopt);
}

}  // namespace
}  // namespace eidolon::network::flow
