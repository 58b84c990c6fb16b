#include "services/agent/clock/value_impasse.h"

#include <gtest/gtest.h>

namespace eidolon::agent::clock {
namespace {

using base::SimTime;

class ValueImpasseTest : public ::testing::Test {
 protected:
  ValueImpasseTest() {
    impasse_.Allow();
    horizon_.AddRank(1, SimTime{50});
    horizon_.AddRank(2, SimTime{90});
    horizon_.BeginMomentWait(2, 0, SimTime{90});
  }

  bool IsToBeBrokenAfter(std::int64_t still_ns) {
    impasse_.NoteActivity(1'000);
    return impasse_.IsToBeBroken(1'000 + still_ns, horizon_);
  }

  Horizon horizon_;
  ValueImpasse impasse_;
};

TEST_F(ValueImpasseTest, IsNoneWhileARankRuns) {
  EXPECT_FALSE(IsToBeBrokenAfter(ValueImpasse::kStillNs));
}

TEST_F(ValueImpasseTest, IsNoneWhereNobodyWaitsForValues) {
  horizon_.BeginNetworkWait(1, 0, {});

  EXPECT_FALSE(IsToBeBrokenAfter(ValueImpasse::kStillNs));
}

TEST_F(ValueImpasseTest, IsLeftToTheNetworkUnlessTheJobAllowsIt) {
  horizon_.BeginValueWait(1, 0);
  ValueImpasse strict;

  EXPECT_FALSE(strict.IsToBeBroken(ValueImpasse::kStillNs, horizon_));
}

TEST_F(ValueImpasseTest, IsBrokenOnceNothingMoves) {
  horizon_.BeginValueWait(1, 0);

  EXPECT_FALSE(IsToBeBrokenAfter(ValueImpasse::kStillNs - 1));
  EXPECT_TRUE(IsToBeBrokenAfter(ValueImpasse::kStillNs));
}

TEST_F(ValueImpasseTest, IsLeftToTheNetworkWhereAnswersBringNoValues) {
  horizon_.BeginValueWait(1, 0);
  for (int i = 0; i < ValueImpasse::kMostAnswers; ++i) {
    ASSERT_TRUE(IsToBeBrokenAfter(ValueImpasse::kStillNs));
    impasse_.NoteAnswer();
  }

  EXPECT_FALSE(IsToBeBrokenAfter(ValueImpasse::kStillNs));
  impasse_.NoteValues();
  EXPECT_TRUE(IsToBeBrokenAfter(ValueImpasse::kStillNs));
}

}  // namespace
}  // namespace eidolon::agent::clock
