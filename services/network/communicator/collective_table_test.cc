#include "services/network/communicator/collective_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text.h"

namespace eidolon::network::communicator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Names(const std::vector<std::int32_t>& ranks) {
  std::vector<std::int64_t> numbers(ranks.begin(), ranks.end());
  return base::StrCat(ranks.size() == 1 ? "rank " : "ranks ", Ranges(numbers));
}

Operation Sum(std::uint64_t count) {
  return {.kind = Kind::kAllReduce, .data_type = 1, .count = count, .bytes = count};
}

TEST(CollectiveTableTest, StartsWhenTheLastStreamHasCome) {
  CollectiveTable table(2);
  ASSERT_TRUE(table.Issue(0, 0, Sum(1), std::nullopt, Names).has_value());
  ASSERT_TRUE(table.Issue(0, 1, Sum(1), std::nullopt, Names).has_value());

  EXPECT_FALSE(table.Post(0, 1, {70})->has_value());
  const auto ready = table.Post(0, 0, {50});

  ASSERT_TRUE(ready.has_value() && ready->has_value());
  EXPECT_EQ((*ready)->start, base::SimTime{70});
  EXPECT_TRUE(table.Unfinished().empty());
}

TEST(CollectiveTableTest, GivesValuesWhenTheLastMemberHasCalled) {
  CollectiveTable table(2);

  EXPECT_THAT(*table.Issue(3, 1, Sum(1), "\x02", Names), IsEmpty());
  const auto values = table.Issue(3, 0, Sum(1), "\x05", Names);

  ASSERT_TRUE(values.has_value() && values->size() == 1);
  EXPECT_THAT(values->front().results, ElementsAre("\x07", "\x07"));
}

TEST(CollectiveTableTest, LargeUnknownCollectivesHaveNoValues) {
  CollectiveTable table(1);

  EXPECT_THAT(*table.Issue(0, 0, Sum(1 << 20), std::nullopt, Names), IsEmpty());
}

TEST(CollectiveTableTest, NamesMembersThatDisagreeLowestRankFirst) {
  CollectiveTable table(3);
  ASSERT_TRUE(table.Issue(4, 2, Sum(8), std::nullopt, Names).has_value());
  ASSERT_TRUE(table.Issue(4, 1, Sum(8), std::nullopt, Names).has_value());

  const auto issued = table.Issue(4, 0, Sum(9), std::nullopt, Names);

  ASSERT_FALSE(issued.has_value());
  EXPECT_EQ(issued.error().code, base::ErrorCode::kFailedPrecondition);
  EXPECT_EQ(issued.error().message,
            "members call different operations as collective 4: rank 0 calls all_reduce (sum) of 9 "
            "uint8; ranks 1, 2 call all_reduce (sum) of 8 uint8");
}

TEST(CollectiveTableTest, RefusesCallsOutOfOrder) {
  CollectiveTable table(2);
  EXPECT_FALSE(table.Post(0, 0, {1}).has_value());
  ASSERT_TRUE(table.Issue(0, 0, Sum(8), std::nullopt, Names).has_value());
  EXPECT_FALSE(table.Issue(0, 0, Sum(8), std::nullopt, Names).has_value());
  ASSERT_TRUE(table.Post(0, 0, {1}).has_value());
  EXPECT_FALSE(table.Post(0, 0, {1}).has_value());
  ASSERT_TRUE(table.Issue(0, 1, Sum(8), std::nullopt, Names).has_value());
  ASSERT_TRUE(table.Post(0, 1, {1}).has_value());

  EXPECT_EQ(table.Issue(0, 1, Sum(8), std::nullopt, Names).error().message,
            "rank 1 calls collective 0, which has ended");
}

TEST(CollectiveTableTest, TellsWhoWaitsAndWhoIsMissing) {
  CollectiveTable table(3);
  ASSERT_TRUE(table.Issue(0, 0, Sum(8), std::nullopt, Names).has_value());
  ASSERT_TRUE(table.Issue(0, 2, Sum(8), std::nullopt, Names).has_value());
  ASSERT_TRUE(table.Post(0, 2, {1}).has_value());

  const auto unfinished = table.Unfinished();

  ASSERT_EQ(unfinished.size(), 1u);
  EXPECT_THAT(unfinished[0].waiting, ElementsAre(2));
  EXPECT_THAT(unfinished[0].behind, ElementsAre(0));
  EXPECT_THAT(unfinished[0].missing, ElementsAre(1));
  EXPECT_TRUE(table.Needs(1));
  EXPECT_TRUE(table.Misses(1));
  EXPECT_TRUE(table.Needs(0));
  EXPECT_FALSE(table.Misses(0));
  EXPECT_FALSE(table.Needs(2));
}

TEST(CollectiveTableTest, NumberSetKeepsOnlyExceptions) {
  NumberSet set;
  EXPECT_TRUE(set.Insert(1));
  EXPECT_TRUE(set.Insert(0));
  EXPECT_FALSE(set.Insert(1));
  EXPECT_TRUE(set.Contains(0));
  EXPECT_FALSE(set.Contains(2));
}

}  // namespace
}  // namespace eidolon::network::communicator
