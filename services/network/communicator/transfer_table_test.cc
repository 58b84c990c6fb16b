#include "services/network/communicator/transfer_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::network::communicator {
namespace {

using base::SimTime;

Operation Group(std::vector<TransferCall> calls) {
  return {.kind = Kind::kPointToPoint, .transfers = std::move(calls)};
}

TransferCall Send(std::int32_t peer, std::uint64_t bytes, std::uint64_t sequence = 0) {
  return {.send = true, .peer = peer, .bytes = bytes, .sequence = sequence};
}

TransferCall Receive(std::int32_t peer, std::uint64_t bytes, std::uint64_t sequence = 0) {
  return {.send = false, .peer = peer, .bytes = bytes, .sequence = sequence};
}

TEST(TransferTableTest, StartsWhenBothSidesHaveCome) {
  TransferTable table;
  ASSERT_TRUE(table.Issue({0, 0}, Group({Send(1, 100)}), std::nullopt).has_value());
  ASSERT_TRUE(table.Issue({1, 0}, Group({Receive(0, 100)}), std::nullopt).has_value());

  EXPECT_TRUE(table.Post({1, 0}, {30})->empty());
  const auto ready = table.Post({0, 0}, {20});

  ASSERT_EQ(ready->size(), 1u);
  EXPECT_EQ(ready->front().pair, (Pair{0, 1, 0}));
  EXPECT_EQ(ready->front().start, SimTime{30});
}

TEST(TransferTableTest, KnowsHowEarlyATransferCanStartOnceBothSidesHaveCalled) {
  TransferTable table;
  ASSERT_TRUE(table.Issue({0, 0}, Group({Send(1, 100)}), std::nullopt).has_value());
  table.Bound({0, 0}, {20});
  EXPECT_TRUE(table.BoundsOf({0, 0}).empty()) << "nobody receives it yet";
  ASSERT_TRUE(table.Issue({1, 0}, Group({Receive(0, 100)}), std::nullopt).has_value());

  ASSERT_EQ(table.BoundsOf({0, 0}).size(), 1u);
  EXPECT_EQ(table.BoundsOf({1, 0}).front().start, SimTime{20});
  EXPECT_EQ(table.BoundsOf({1, 0}).front().bytes, 100u);
  EXPECT_EQ(table.TakeTold({0, 1, 0}, {25}), 0u);
  EXPECT_EQ(table.TakeTold({0, 1, 0}, {25}), std::nullopt) << "no news";

  table.Bound({0, 0}, {10});
  EXPECT_EQ(table.BoundsOf({1, 0}).front().start, SimTime{20});
  ASSERT_TRUE(table.Post({1, 0}, {30}).has_value());
  EXPECT_EQ(table.BoundsOf({0, 0}).front().start, SimTime{30});
  table.Bound({7, 0}, {10});  // Of a group that was not called.
  EXPECT_TRUE(table.BoundsOf({7, 0}).empty());
}

TEST(TransferTableTest, WhoReceivesFromTwoIsToldNoBound) {
  TransferTable table;
  ASSERT_TRUE(table.Issue({2, 0}, Group({Receive(0, 8), Receive(1, 8)}), std::nullopt).has_value());
  ASSERT_TRUE(table.Issue({0, 0}, Group({Send(2, 8)}), std::nullopt).has_value());

  EXPECT_EQ(table.TakeTold({0, 2, 0}, {25}), std::nullopt);
}

TEST(TransferTableTest, AGroupEndsWithItsLastTransfer) {
  TransferTable table;
  ASSERT_TRUE(table.Issue({0, 0}, Group({Send(1, 8), Send(2, 9)}), std::nullopt).has_value());
  ASSERT_TRUE(table.Issue({1, 0}, Group({Receive(0, 8)}), std::nullopt).has_value());
  ASSERT_TRUE(table.Issue({2, 0}, Group({Receive(0, 9)}), std::nullopt).has_value());
  for (std::int32_t rank : {0, 1, 2}) ASSERT_TRUE(table.Post({rank, 0}, {rank}).has_value());

  const auto first = table.Finish(
      {0, 1, 0}, {.start = {1}, .finish = {50}, .spent = {.latency = {20}, .pace = {29}}});
  const auto second =
      table.Finish({0, 2, 0}, {.start = {2}, .finish = {40}, .spent = {.latency = {38}}});

  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].group, (GroupId{1, 0}));
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0].group, (GroupId{0, 0}));
  EXPECT_EQ(second[0].start, SimTime{1});
  EXPECT_EQ(second[0].finish, SimTime{50});
  EXPECT_EQ(second[0].largest_peer, 2);
  // This is the pace of the one that ended last, not of the one that was reported last.
  EXPECT_EQ(second[0].spent.pace, base::Duration{29});
  EXPECT_TRUE(table.Idle());
}

TEST(TransferTableTest, ARankMaySendToItself) {
  TransferTable table;
  const auto values = table.Issue({0, 0}, Group({Receive(0, 2), Send(0, 2)}), "hi");
  ASSERT_EQ(values->size(), 1u);
  EXPECT_EQ(values->front().result, "hi");

  ASSERT_EQ(table.Post({0, 0}, {5})->size(), 1u);
  EXPECT_EQ(table.Finish({0, 0, 0}, {.start = {5}, .finish = {9}}).size(), 1u);
  EXPECT_TRUE(table.Idle());
}

TEST(TransferTableTest, DeliversValuesOnceAllSendsAreKnown) {
  TransferTable table;
  ASSERT_TRUE(table.Issue({2, 0}, Group({Receive(0, 2), Receive(1, 3)}), std::nullopt)->empty());
  ASSERT_TRUE(table.Issue({0, 0}, Group({Send(2, 2)}), "ab")->empty());

  const auto values = table.Issue({1, 0}, Group({Send(2, 3)}), "cde");

  ASSERT_EQ(values->size(), 1u);
  EXPECT_EQ(values->front().group, (GroupId{2, 0}));
  EXPECT_EQ(values->front().result, "abcde");
}

// All-to-all: what a rank sends to itself may have arrived long before the others call.
TEST(TransferTableTest, ValuesHoldWhatArrivedBeforeThePartnerCalled) {
  TransferTable table;
  ASSERT_TRUE(
      table.Issue({0, 0}, Group({Receive(0, 2), Send(0, 2), Receive(1, 3), Send(1, 2)}), "hiyo")
          ->empty());
  ASSERT_EQ(table.Post({0, 0}, {5})->size(), 1u);
  ASSERT_TRUE(table.Finish({0, 0, 0}, {.start = {5}, .finish = {9}}).empty());

  const auto values = table.Issue({1, 0}, Group({Receive(0, 2), Send(0, 3)}), "abc");

  ASSERT_EQ(values->size(), 2u);
  EXPECT_EQ(values->at(0).group, (GroupId{0, 0}));
  EXPECT_EQ(values->at(0).result, "hiabc");
  EXPECT_EQ(values->at(1).result, "yo");
}

TEST(TransferTableTest, AnUnknownSendMakesTheValuesUnknown) {
  TransferTable table;
  ASSERT_TRUE(table.Issue({0, 0}, Group({Send(1, 2)}), std::nullopt)->empty());

  const auto values = table.Issue({1, 0}, Group({Receive(0, 2)}), std::nullopt);

  ASSERT_EQ(values->size(), 1u);
  EXPECT_FALSE(values->front().result.has_value());
}

TEST(TransferTableTest, PartnersMustAgreeOnTheSize) {
  TransferTable table;
  ASSERT_TRUE(table.Issue({0, 0}, Group({Send(1, 2, 3)}), std::nullopt).has_value());

  const auto issued = table.Issue({1, 0}, Group({Receive(0, 9, 3)}), std::nullopt);

  ASSERT_FALSE(issued.has_value());
  EXPECT_EQ(issued.error().message,
            "rank 0 sends 2 bytes to rank 1, which receives 9 bytes (number 3 of this pair)");
  ASSERT_TRUE(table.Issue({2, 0}, Group({Receive(3, 16384)}), std::nullopt).has_value());
  EXPECT_FALSE(table.Issue({3, 0}, Group({Send(2, 16385)}), std::nullopt).has_value());
}

TEST(TransferTableTest, AShortReceiveHasTheBeginningOfWhatWasSent) {
  TransferTable table;
  ASSERT_TRUE(table.Issue({0, 0}, Group({Send(1, 8)}), "abcdefgh")->empty());
  ASSERT_TRUE(table.Issue({1, 1}, Group({Receive(0, 3, 1)}), std::nullopt)->empty());

  const auto first = table.Issue({1, 0}, Group({Receive(0, 4)}), std::nullopt);
  const auto second = table.Issue({0, 1}, Group({Send(1, 100, 1)}), std::string(100, 'x'));

  ASSERT_EQ(first->size(), 1u);
  EXPECT_EQ(first->front().result, "abcd");
  ASSERT_EQ(second->size(), 1u);
  EXPECT_EQ(second->front().result, "xxx");
}

TEST(TransferTableTest, AReceiveWithinTheSentLineKnowsNothingBeyondWhatWasSent) {
  TransferTable table;
  ASSERT_TRUE(table.Issue({0, 0}, Group({Send(1, 2)}), "ab")->empty());

  const auto values = table.Issue({1, 0}, Group({Receive(0, 4)}), std::nullopt);

  ASSERT_EQ(values->size(), 1u);
  EXPECT_FALSE(values->front().result.has_value());
}

TEST(TransferTableTest, RefusesCallsOutOfOrder) {
  TransferTable table;
  EXPECT_FALSE(table.Post({0, 0}, {1}).has_value());
  ASSERT_TRUE(table.Issue({0, 0}, Group({Send(1, 2)}), std::nullopt).has_value());
  EXPECT_FALSE(table.Issue({0, 0}, Group({Send(1, 2)}), std::nullopt).has_value());
  EXPECT_FALSE(table.Issue({0, 1}, Group({Send(1, 2)}), std::nullopt).has_value());
  ASSERT_TRUE(table.Post({0, 0}, {1}).has_value());
  EXPECT_FALSE(table.Post({0, 0}, {1}).has_value());
}

TEST(TransferTableTest, TellsWhoWaits) {
  TransferTable table;
  ASSERT_TRUE(table.Issue({0, 0}, Group({Send(1, 2)}), std::nullopt).has_value());
  EXPECT_TRUE(table.Unfinished().empty());
  ASSERT_TRUE(table.Post({0, 0}, {1}).has_value());

  const auto unfinished = table.Unfinished();

  ASSERT_EQ(unfinished.size(), 1u);
  EXPECT_TRUE(unfinished[0].sender_waits);
  EXPECT_FALSE(unfinished[0].partner_called);
  EXPECT_TRUE(table.Needs(1));
  EXPECT_TRUE(table.Misses(1));
  EXPECT_FALSE(table.Needs(0));

  ASSERT_TRUE(table.Issue({1, 0}, Group({Receive(0, 2)}), std::nullopt).has_value());
  EXPECT_TRUE(table.Needs(1)) << "its stream has not come";
  EXPECT_FALSE(table.Misses(1));
}

}  // namespace
}  // namespace eidolon::network::communicator
