#include "services/agent/rendezvous/request_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace eidolon::agent::rendezvous {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kStopWaiting(1, '\0');
const std::string kCancelled(1, '\x01');

std::string Number(std::int64_t number) {
  std::string bytes;
  AppendNumber(&bytes, number);
  return bytes;
}

std::string Text(std::string_view text) {
  std::string bytes;
  AppendText(&bytes, text);
  return bytes;
}

class RequestHandlerTest : public ::testing::Test {
 protected:
  // Returns what the client is answered, now and for earlier requests.
  std::string Ask(int client, Request request) {
    const auto answered = handler_.Answer(client, std::move(request));
    EXPECT_TRUE(answered.has_value()) << answered.error().message;
    return Received(client);
  }
  std::string Received(int client) { return std::exchange(answers_[client], ""); }

  std::string Set(int client, std::string key, std::string value) {
    return Ask(
        client,
        {.operation = Operation::kSet, .keys = {std::move(key)}, .values = {std::move(value)}});
  }
  std::string Wait(int client, std::vector<std::string> keys) {
    return Ask(client, {.operation = Operation::kWait, .keys = std::move(keys)});
  }
  std::string Barrier(int client, std::string key, std::int64_t ranks) {
    return Ask(client,
               {.operation = Operation::kBarrier, .keys = {std::move(key)}, .number = ranks});
  }
  std::vector<std::string> DescribeWaits() {
    return handler_.DescribeWaits([](int client) -> std::optional<std::int64_t> {
      if (client >= 100) return std::nullopt;
      return client;
    });
  }

  std::map<int, std::string> answers_;
  RequestHandler handler_{{.world = {.size = 8, .live = {0, 3, 7}}},
                          [this](int to) { return &answers_[to]; }};
};

TEST_F(RequestHandlerTest, ListsKeysButNotQueues) {
  Set(0, "/b", "2");
  Set(0, "/a", "1");
  Ask(0, {.operation = Operation::kQueuePush, .keys = {"/q"}, .values = {"x"}});

  EXPECT_EQ(Ask(0, {.operation = Operation::kListKeys}), Number(2) + Text("/a") + Text("/b"));
  EXPECT_EQ(Ask(0, {.operation = Operation::kCountKeys}), Number(2));
}

TEST_F(RequestHandlerTest, ABarrierEndsWhenAsManyHaveCome) {
  EXPECT_EQ(Barrier(0, "/barrier", 2), "");
  EXPECT_EQ(Barrier(3, "/barrier", 2), kStopWaiting);
  EXPECT_EQ(Received(0), kStopWaiting);
  EXPECT_EQ(Barrier(7, "/barrier", 2), kStopWaiting) << "as in PyTorch, its counter stays";
}

TEST_F(RequestHandlerTest, MirroredRanksComeToABarrierOfTheWholeJobAfterAllLiveRanks) {
  EXPECT_EQ(Barrier(0, "/barrier", 8), "");
  EXPECT_EQ(Barrier(3, "/barrier", 8), "");
  EXPECT_EQ(Barrier(7, "/barrier", 8), kStopWaiting);
  EXPECT_EQ(Received(0) + Received(3), kStopWaiting + kStopWaiting);
  EXPECT_EQ(*handler_.store().Find("/barrier"), "8");
}

TEST_F(RequestHandlerTest, ABarrierThatIsCancelledWaitsNoMore) {
  EXPECT_EQ(Barrier(0, "/barrier", 2), "");
  EXPECT_EQ(Ask(0, {.operation = Operation::kCancelWait}), kCancelled);
  EXPECT_EQ(Barrier(3, "/barrier", 2), kStopWaiting);
  EXPECT_EQ(Received(0), "");
}

// The requests of torch.distributed with TORCH_DIST_INIT_BARRIER=1 in new_group.
TEST_F(RequestHandlerTest, BarriersOfNewGroupsCompleteWithMirroredRanks) {
  const std::string all = "/default_pg/0//store_based_barrier_key:1";
  const auto come = [&](int client, const std::string& key) {
    return Ask(client, {.operation = Operation::kAdd, .keys = {key}, .number = 1});
  };
  EXPECT_EQ(come(0, all), Number(1));
  EXPECT_EQ(come(3, all), Number(2));
  EXPECT_EQ(Wait(0, {all + ":last_worker"}), "");
  EXPECT_EQ(come(7, all), Number(8));
  Set(7, all + ":last_worker", "1");
  EXPECT_EQ(Received(0), kStopWaiting);

  const std::string name = "ad56679d2c95f00a464e146ac76c2deb475d8262";
  const std::string members = "/default_pg/0//" + name + "//store_based_barrier_key:" + name;
  EXPECT_EQ(come(3, members), Number(1));
  EXPECT_EQ(Wait(3, {members + ":last_worker"}), kStopWaiting);
}

TEST_F(RequestHandlerTest, AMemberOfAQueueWakesOne) {
  EXPECT_EQ(Wait(0, {"/q"}), "");
  EXPECT_EQ(Wait(3, {"/q"}), "");
  Ask(7, {.operation = Operation::kQueuePush, .keys = {"/q"}, .values = {"x"}});
  EXPECT_EQ(Received(0), kStopWaiting);
  EXPECT_EQ(Received(3), "");

  EXPECT_EQ(Ask(0, {.operation = Operation::kQueuePop, .keys = {"/q"}}), Number(1) + Text("x"));
  EXPECT_EQ(Ask(0, {.operation = Operation::kQueuePop, .keys = {"/q"}}), Number(0));
}

TEST_F(RequestHandlerTest, WaitsEndWithAnyChangeThatSetsTheKey) {
  const auto change = [&](Operation operation, std::vector<std::string> values) {
    EXPECT_EQ(Wait(0, {"/key", "/other"}), "");
    Ask(3, {.operation = operation, .keys = {"/key"}, .values = std::move(values), .number = 1});
    Set(3, "/other", "");
    const std::string received = Received(0);
    for (const char* key : {"/key", "/other"}) {
      Ask(3, {.operation = Operation::kDelete, .keys = {key}});
    }
    return received;
  };
  EXPECT_EQ(change(Operation::kSet, {"x"}), kStopWaiting);
  EXPECT_EQ(change(Operation::kAppend, {"x"}), kStopWaiting);
  EXPECT_EQ(change(Operation::kAdd, {}), kStopWaiting);
  EXPECT_EQ(change(Operation::kMultiSet, {"x"}), kStopWaiting);
  EXPECT_EQ(change(Operation::kCompareSet, {"", "x"}), kStopWaiting);
  EXPECT_EQ(change(Operation::kCompareSet, {"y", "x"}), "") << "it was not set";
}

TEST_F(RequestHandlerTest, WhoWaitsIsNamedByRankAndNothingIsLeftOut) {
  EXPECT_THAT(DescribeWaits(), IsEmpty());
  Wait(7, {"/a"});
  Wait(0, {"/a"});
  Wait(3, {"/default_pg/0//cpu//0/5"});
  Barrier(100, "/b", 4);

  EXPECT_THAT(
      DescribeWaits(),
      ElementsAre("ranks 0, 7 wait in the rendezvous store for '/a', which no live rank has set",
                  StartsWith("a rank waits in the rendezvous store at the barrier '/b' of 4 ranks, "
                             "to which 1 have come"),
                  AllOf(StartsWith("rank 3 waits"), HasSubstr("rank 5 of a Gloo group"))));
  handler_.Forget(7);
  EXPECT_THAT(DescribeWaits()[0], StartsWith("rank 0 waits"));
  for (int client = 101; client < 112; ++client) Wait(client, {"/a"});
  EXPECT_THAT(DescribeWaits()[0], StartsWith("ranks 0 and 11 more wait"));
  Wait(50, {"/c", "/d", "/e"});
  EXPECT_THAT(DescribeWaits(), SizeIs(4));
  EXPECT_THAT(DescribeWaits().back(), EndsWith("; 2 more keys are waited for"));
}

TEST_F(RequestHandlerTest, WhatTheStoreHoldsHasLimits) {
  RequestHandler handler({.entries_max = 3, .bytes_max = 1000},
                         [this](int to) { return &answers_[to]; });
  const auto refusal = [&](Operation operation, std::vector<std::string> keys, std::string value) {
    const auto done = handler.Answer(
        0, {.operation = operation, .keys = std::move(keys), .values = {std::move(value)}});
    return done.has_value() ? "" : done.error().message;
  };
  EXPECT_EQ(refusal(Operation::kSet, {"/a"}, std::string(600, 'v')), "");

  EXPECT_THAT(refusal(Operation::kAppend, {"/a"}, std::string(400, 'v')),
              HasSubstr("the rendezvous store would hold more than 1000 bytes"));
  EXPECT_EQ(handler.store().Find("/a")->size(), 600u);
  EXPECT_THAT(refusal(Operation::kMultiGet, {"/a", "/a"}, ""),
              HasSubstr("an answer of the rendezvous store would have more than 1000 bytes"));
  EXPECT_EQ(refusal(Operation::kSet, {"/b"}, ""), "");
  EXPECT_EQ(refusal(Operation::kQueuePush, {"/q"}, ""), "");
  for (const Operation operation : {Operation::kSet, Operation::kQueuePush, Operation::kAdd}) {
    EXPECT_THAT(refusal(operation, {"/c"}, ""), HasSubstr("would have more than 3 keys"));
  }
  EXPECT_EQ(refusal(Operation::kSet, {"/b"}, "changed"), "");
  EXPECT_EQ(refusal(Operation::kWait, {"/b"}, ""), "");
}

}  // namespace
}  // namespace eidolon::agent::rendezvous
