#include "services/contract/cluster/yaml_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ComplaintOf(std::string_view text, const std::function<void(Fields&)>& read) {
  const auto done = ReadYaml(text, read);
  return done ? "" : done.error().message;
}

TEST(YamlFieldsTest, ReadsEachSortOfField) {
  const auto done =
      ReadYaml(R"(
text: a word
whole: 12
number: 0.5
yes: true
names: [a, b]
lengths: [2, 3]
nested: {inner: 7}
list: [{at: 1}, {at: 2}]
)",
               [](Fields& fields) {
                 EXPECT_EQ(fields.Text("text", ""), "a word");
                 EXPECT_EQ(fields.Integer("whole", {0, 20}, 1), 12);
                 EXPECT_EQ(fields.Number("number", {0, 1}, 0), 0.5);
                 EXPECT_TRUE(fields.Bool("yes", false));
                 EXPECT_THAT(fields.TextList("names", 2), ElementsAre("a", "b"));
                 EXPECT_THAT(fields.IntegerList("lengths", {1, 9}, 2), ElementsAre(2u, 3u));
                 const auto nested = fields.Object("nested");
                 ASSERT_NE(nested, nullptr);
                 EXPECT_EQ(nested->Integer("inner", {0, 9}, 0), 7);
                 nested->Finish();
                 std::int64_t sum = 0;
                 fields.ForEachObject("list", 2, [&](Fields& entry) {
                   sum += entry.Integer("at", {0, 9}, 0);
                   entry.Finish();
                 });
                 EXPECT_EQ(sum, 3);
                 EXPECT_FALSE(fields.Has("absent"));
                 EXPECT_EQ(fields.Integer("absent", {0, 9}, 4), 4);
                 EXPECT_EQ(fields.Object("absent"), nullptr);
                 fields.Finish();
               });
  EXPECT_TRUE(done.has_value()) << done.error().message;
}

TEST(YamlFieldsTest, ARangeIsToldWithTheValue) {
  const auto read = [](Fields& fields) {
    fields.Integer("whole", {1, 8}, 1);
    fields.Number("number", {0, 5, true}, 1);
  };

  EXPECT_EQ(ComplaintOf("whole: 9", read), "whole is '9'; it must be a whole number from 1 to 8");
  EXPECT_EQ(ComplaintOf("number: 0", read), "number is '0'; it must be above 0 and at most 5");
}

TEST(YamlFieldsTest, AChoiceNamesTheNearest) {
  const auto read = [](Fields& fields) { fields.Choice("routing", {"adaptive", "ecmp"}, "ecmp"); };

  EXPECT_THAT(ComplaintOf("routing: adaptiv", read),
              HasSubstr("routing is 'adaptiv', did you mean adaptive?"));
}

TEST(YamlFieldsTest, AListThatIsTooLongIsNotRead) {
  const auto read = [](Fields& fields) {
    fields.ForEachObject("list", 1, [](Fields&) { FAIL(); });
  };

  EXPECT_EQ(ComplaintOf("list: [{}, {}]", read), "list has 2 entries; at most 1");
}

TEST(YamlFieldsTest, TheFirstComplaintStays) {
  const auto read = [](Fields& fields) {
    fields.Report("one", "is wrong");
    fields.Report("two", "is wrong as well");
    EXPECT_EQ(fields.ProblemCount(), 1u);
  };

  EXPECT_EQ(ComplaintOf("a: 1", read), "one is wrong");
}

}  // namespace
}  // namespace eidolon::cluster
