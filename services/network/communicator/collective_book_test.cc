#include "services/network/communicator/collective_book.h"

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

TEST(CollectiveBookTest, StartsWhenTheLastStreamHasCome) {
  CollectiveBook book(2);
  ASSERT_TRUE(book.Issue(0, 0, Sum(1), std::nullopt, Names).has_value());
  ASSERT_TRUE(book.Issue(0, 1, Sum(1), std::nullopt, Names).has_value());

  EXPECT_FALSE(book.Post(0, 1, {70})->has_value());
  const auto ready = book.Post(0, 0, {50});

  ASSERT_TRUE(ready.has_value() && ready->has_value());
  EXPECT_EQ((*ready)->start, base::SimTime{70});
  EXPECT_TRUE(book.Unfinished().empty());
}

TEST(CollectiveBookTest, GivesValuesWhenTheLastMemberHasCalled) {
  CollectiveBook book(2);

  EXPECT_THAT(*book.Issue(3, 1, Sum(1), "\x02", Names), IsEmpty());
  const auto values = book.Issue(3, 0, Sum(1), "\x05", Names);

  ASSERT_TRUE(values.has_value() && values->size() == 1);
  EXPECT_THAT(values->front().results, ElementsAre("\x07", "\x07"));
}

TEST(CollectiveBookTest, LargeUnknownCollectivesHaveNoValues) {
  CollectiveBook book(1);

  EXPECT_THAT(*book.Issue(0, 0, Sum(1 << 20), std::nullopt, Names), IsEmpty());
}

TEST(CollectiveBookTest, NamesMembersThatDisagreeLowestRankFirst) {
  CollectiveBook book(3);
  ASSERT_TRUE(book.Issue(4, 2, Sum(8), std::nullopt, Names).has_value());
  ASSERT_TRUE(book.Issue(4, 1, Sum(8), std::nullopt, Names).has_value());

  const auto issued = book.Issue(4, 0, Sum(9), std::nullopt, Names);

  ASSERT_FALSE(issued.has_value());
  EXPECT_EQ(issued.error().code, base::ErrorCode::kFailedPrecondition);
  EXPECT_EQ(issued.error().message,
            "members call different operations as collective 4: rank 0 calls all_reduce (sum) of 9 "
            "uint8; ranks 1, 2 call all_reduce (sum) of 8 uint8");
}

TEST(CollectiveBookTest, RefusesCallsOutOfOrder) {
  CollectiveBook book(2);
  EXPECT_FALSE(book.Post(0, 0, {1}).has_value());
  ASSERT_TRUE(book.Issue(0, 0, Sum(8), std::nullopt, Names).has_value());
  EXPECT_FALSE(book.Issue(0, 0, Sum(8), std::nullopt, Names).has_value());
  ASSERT_TRUE(book.Post(0, 0, {1}).has_value());
  EXPECT_FALSE(book.Post(0, 0, {1}).has_value());
  ASSERT_TRUE(book.Issue(0, 1, Sum(8), std::nullopt, Names).has_value());
  ASSERT_TRUE(book.Post(0, 1, {1}).has_value());

  EXPECT_EQ(book.Issue(0, 1, Sum(8), std::nullopt, Names).error().message,
            "rank 1 calls collective 0, which has ended");
}

TEST(CollectiveBookTest, TellsWhoWaitsAndWhoIsMissing) {
  CollectiveBook book(3);
  ASSERT_TRUE(book.Issue(0, 0, Sum(8), std::nullopt, Names).has_value());
  ASSERT_TRUE(book.Issue(0, 2, Sum(8), std::nullopt, Names).has_value());
  ASSERT_TRUE(book.Post(0, 2, {1}).has_value());

  const auto unfinished = book.Unfinished();

  ASSERT_EQ(unfinished.size(), 1u);
  EXPECT_THAT(unfinished[0].waiting, ElementsAre(2));
  EXPECT_THAT(unfinished[0].behind, ElementsAre(0));
  EXPECT_THAT(unfinished[0].missing, ElementsAre(1));
  EXPECT_TRUE(book.Needs(1));
  EXPECT_TRUE(book.Misses(1));
  EXPECT_TRUE(book.Needs(0));
  EXPECT_FALSE(book.Misses(0));
  EXPECT_FALSE(book.Needs(2));
}

TEST(CollectiveBookTest, NumberSetKeepsOnlyExceptions) {
  NumberSet set;
  EXPECT_TRUE(set.Insert(1));
  EXPECT_TRUE(set.Insert(0));
  EXPECT_FALSE(set.Insert(1));
  EXPECT_TRUE(set.Contains(0));
  EXPECT_FALSE(set.Contains(2));
}

}  // namespace
}  // namespace eidolon::network::communicator
