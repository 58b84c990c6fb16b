#include "services/network/communicator/operation.h"

#include <gtest/gtest.h>

namespace eidolon::network::communicator {
namespace {

Operation Reduce(std::uint64_t count) {
  return {.kind = Kind::kReduce, .data_type = 7, .reduction = 0, .root = 1, .count = count};
}

TEST(OperationTest, DescribesWhatAPersonWouldSay) {
  EXPECT_EQ(Describe(Reduce(16)), "reduce (sum) to 1 of 16 float32");
  EXPECT_EQ(Describe({.kind = Kind::kAllGather, .data_type = 9, .count = 5}),
            "all_gather of 5 bfloat16");
  EXPECT_EQ(Describe({.kind = Kind::kBroadcast, .data_type = 4, .root = 0, .count = 2}),
            "broadcast from 0 of 2 int64");
  EXPECT_EQ(Describe({.kind = Kind::kPointToPoint,
                      .transfers = {{.send = true}, {.send = false}, {.send = true}}}),
            "2 sends and 1 receives");
}

TEST(OperationTest, ComparesWhatMembersMustAgreeOn) {
  EXPECT_TRUE(Matches(Reduce(16), Reduce(16)));
  EXPECT_FALSE(Matches(Reduce(16), Reduce(17)));
  Operation other = Reduce(16);
  other.root = 0;
  EXPECT_FALSE(Matches(Reduce(16), other));
  Operation gather{.kind = Kind::kAllGather, .data_type = 7, .reduction = 0, .count = 4};
  Operation gather_max = gather;
  gather_max.reduction = 2;
  EXPECT_TRUE(Matches(gather, gather_max));
}

TEST(OperationTest, RefusesRanksAndTypesOutOfRange) {
  EXPECT_TRUE(Check(Reduce(1), 2).has_value());
  EXPECT_EQ(Check(Reduce(1), 1).error().message,
            "reduce with root 1 in a communicator with 1 ranks");
  EXPECT_EQ(Check({.kind = Kind::kAllReduce, .data_type = 99}, 2).error().message,
            "all_reduce of unknown data type 99");
  EXPECT_EQ(Check({.kind = Kind::kPointToPoint, .transfers = {{.send = true, .peer = 7}}}, 2)
                .error()
                .message,
            "send to rank 7 of a communicator with 2 ranks");
  EXPECT_FALSE(Check({.kind = Kind::kPointToPoint}, 2).has_value());
}

TEST(OperationTest, JoinsRuns) {
  EXPECT_EQ(Ranges({}), "");
  EXPECT_EQ(Ranges({4}), "4");
  EXPECT_EQ(Ranges({0, 1, 2, 5, 7, 8}), "0-2, 5, 7, 8");
}

}  // namespace
}  // namespace eidolon::network::communicator
