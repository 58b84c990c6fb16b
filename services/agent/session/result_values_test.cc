#include "services/agent/session/result_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::agent::session {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class ResultValuesTest : public ::testing::Test {
 protected:
  void Add(std::uint64_t sequence, const std::string& payload, bool known = true) {
    values_.Add(
        {.sequence = sequence}, known, payload,
        [this](std::uint32_t slot, std::string_view bytes) { answers_.emplace_back(slot, bytes); });
  }
  ResultValues values_;
  std::vector<std::pair<std::uint32_t, std::string>> answers_;
};

TEST_F(ResultValuesTest, AResultIsThereOnceItHasCome) {
  EXPECT_FALSE(values_.Find({.call = {.sequence = 3}}).has_value());

  Add(3, "abcd");

  EXPECT_EQ(values_.Find({.call = {.sequence = 3}}), "abcd");
}

TEST_F(ResultValuesTest, AReceiveIsAPieceOfItsGroup) {
  Add(3, "abcdef");

  EXPECT_EQ(values_.Find({.call = {.sequence = 3}, .offset = 2, .bytes = 3}), "cde");
  EXPECT_EQ(values_.Find({.call = {.sequence = 3}, .offset = 9, .bytes = 3}), "");
}

TEST_F(ResultValuesTest, UnknownBytesAreEmpty) {
  Add(3, "abcd", false);

  EXPECT_EQ(values_.Find({.call = {.sequence = 3}}), "");
}

TEST_F(ResultValuesTest, GroupsAndCollectivesAreCountedApart) {
  Add(3, "abcd");

  EXPECT_FALSE(values_.Find({.call = {.point_to_point = true, .sequence = 3}}).has_value());
}

TEST_F(ResultValuesTest, WhoWaitsIsAnsweredOnceInOrder) {
  values_.Await(8, {.call = {.sequence = 3}});
  values_.Await(9, {.call = {.sequence = 4}});
  values_.Await(2, {.call = {.sequence = 3}});

  Add(3, "ab");
  Add(3, "cd");

  EXPECT_THAT(answers_, ElementsAre(Pair(8, "ab"), Pair(2, "ab")));
  EXPECT_THAT(values_.TakeWaiting(), ElementsAre(9));
  EXPECT_THAT(values_.TakeWaiting(), IsEmpty());
}

TEST_F(ResultValuesTest, TheOldestAreForgottenWithTheirPlaces) {
  values_.AddPlace(70, {.call = {.sequence = 0}});
  values_.AddPlace(71, {.call = {.sequence = 1}});
  const std::string half(ResultValues::kKeptBytes / 2, 'x');
  Add(0, half);
  Add(1, half);
  EXPECT_TRUE(values_.FindPlace(70).has_value());

  Add(2, "y");

  EXPECT_FALSE(values_.FindPlace(70).has_value());
  EXPECT_FALSE(values_.Find({.call = {.sequence = 0}}).has_value());
  EXPECT_TRUE(values_.FindPlace(71).has_value());
  EXPECT_EQ(values_.Find({.call = {.sequence = 2}}), "y");
}

}  // namespace
}  // namespace eidolon::agent::session
