#include "services/timing/profile/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::timing::profile {
namespace {

using testing::HasSubstr;

Profile Sample() {
  Profile profile;
  profile.gpu = "H100-SXM5-80GB";
  profile.driver = "580.82";
  profile.date = "2026-11-21";
  profile.rows.push_back({.key = {1, 2},
                          .class_key = {3, 4},
                          .size = 1024,
                          .median = base::Duration::Microseconds(5),
                          .spread = 0.01,
                          .repetitions = 20});
  return profile;
}

TEST(ProfileTest, SurvivesAWayThroughJsonLines) {
  const auto read = ParseProfile(FormatProfile(Sample()));

  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->gpu, "H100-SXM5-80GB");
  EXPECT_EQ(read->driver, "580.82");
  ASSERT_EQ(read->rows.size(), 1u);
  EXPECT_EQ(read->rows[0].key, (base::Digest{1, 2}));
  EXPECT_EQ(read->rows[0].median, base::Duration::Microseconds(5));
  EXPECT_EQ(read->rows[0].repetitions, 20u);
}

TEST(ProfileTest, DiffTellsWhatChangedAndRefusesOtherGpus) {
  const Profile left = Sample();
  Profile right = Sample();
  right.rows[0].median = base::Duration::Microseconds(6);
  ProfileRow more = right.rows[0];
  more.key = {7, 8};
  right.rows.push_back(more);
  Profile foreign = Sample();
  foreign.gpu = "A100-SXM4-80GB";

  const auto diff = *DiffProfiles(left, right);

  EXPECT_TRUE((*DiffProfiles(left, left)).same());
  ASSERT_EQ(diff.changed.size(), 1u);
  EXPECT_EQ(diff.changed[0].second.median, base::Duration::Microseconds(6));
  EXPECT_EQ(diff.only_right.size(), 1u);
  EXPECT_THAT(FormatDiff(diff), HasSubstr("0 equal, 1 changed, 0 removed, 1 added"));
  EXPECT_FALSE(DiffProfiles(left, foreign).has_value());
}

TEST(ProfileTest, NamesLineAndFieldOfWhatIsWrong) {
  const std::string good = FormatProfile(Sample());
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto result = ParseProfile(text);
    return result ? std::string("no error") : result.error().message;
  };

  EXPECT_THAT(replaced("\"median_ps\"", "\"median\""), HasSubstr("line 2: 'median_ps' is missing"));
  EXPECT_THAT(replaced("\"gpu\":\"H100-SXM5-80GB\"", "\"gpu\":7"),
              HasSubstr("line 1: 'gpu' is not a text"));
  EXPECT_THAT(replaced("\"eidolon_profile\":2", "\"eidolon_profile\":99"), HasSubstr("schema 99"));
  EXPECT_THAT(replaced("{\"class\"", "[\"class\""), HasSubstr("line 2: not a JSON object"));
  EXPECT_FALSE(ParseProfile(""));
  EXPECT_THAT(replaced("\"size\":1024", "\"size\":[" + std::string(70'000, '[')),
              HasSubstr("line 2: a line of 70"));
}

TEST(ProfileTest, MergeKeepsTheBetterMeasuredRow) {
  Profile more = Sample();
  more.rows[0].repetitions = 50;
  more.rows[0].median = base::Duration::Microseconds(6);

  const auto merged = MergeProfiles(Sample(), more);

  ASSERT_TRUE(merged);
  ASSERT_EQ(merged->rows.size(), 1u);
  EXPECT_EQ(merged->rows[0].median, base::Duration::Microseconds(6));
}

TEST(ProfileTest, MergeRefusesDifferentGpus) {
  Profile other = Sample();
  other.gpu = "L40S";

  const auto merged = MergeProfiles(Sample(), other);

  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().message, HasSubstr("'H100-SXM5-80GB' and 'L40S'"));
}

}  // namespace
}  // namespace eidolon::timing::profile
