#include "services/controller/search/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace eidolon::controller::search {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Bindings& Layout() {
  static const Bindings layout = {
      {"tp", std::int64_t{4}},
      {"pp", std::int64_t{2}},
      {"world", std::int64_t{64}},
      {"recompute", std::string("full")},
      {"share", 0.25},
      {"sharded", true},
  };
  return layout;
}

// The value of an expression as text, or its error.
std::string Evaluated(const std::string& text) {
  const auto expression = Expression::Parse(text);
  if (!expression) return "parse: " + expression.error().message;
  const auto value = expression->Evaluate(Layout());
  return value ? TextOfValue(*value) : "value: " + value.error().message;
}

struct Row {
  std::string text;
  std::string value;
};

class ExpressionValueTest : public ::testing::TestWithParam<Row> {};

TEST_P(ExpressionValueTest, IsAsWritten) {
  EXPECT_EQ(Evaluated(GetParam().text), GetParam().value) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    , ExpressionValueTest,
    ::testing::Values(
        Row{"1 + 2 * 3", "7"}, Row{"(1 + 2) * 3", "9"}, Row{"10 - 3 - 2", "5"}, Row{"8 / 2", "4"},
        Row{"7 / 2", "3.5"}, Row{"7 / 2 * 2 == 7", "true"}, Row{"7 % 4", "3"}, Row{"-7 % 4", "1"},
        Row{"7 % -4", "-1"}, Row{"--3", "3"}, Row{"1e3 + .5", "1000.5"},
        Row{"world % (tp * pp) == 0", "true"}, Row{"tp <= 4 and pp >= 3", "false"},
        Row{"tp > 4 or not pp == 1", "true"}, Row{"not tp > 4 and pp != 1", "true"},
        Row{"recompute == 'full'", "true"}, Row{"recompute != \"none\"", "true"},
        Row{"sharded", "true"}, Row{"not sharded or false", "false"}, Row{"share < 0.3", "true"},
        Row{"2 == 2.0", "true"}, Row{"'a' == 'b'", "false"}, Row{"true == sharded", "true"},
        // The side that decides comes first.
        Row{"tp == 4 or 1 % 0 == 0", "true"}, Row{"tp == 3 and 1 % 0 == 0", "false"}));

class ExpressionErrorTest : public ::testing::TestWithParam<Row> {};

TEST_P(ExpressionErrorTest, NamesTheTokenAndTheWayOut) {
  EXPECT_THAT(Evaluated(GetParam().text), HasSubstr(GetParam().value)) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    , ExpressionErrorTest,
    ::testing::Values(
        Row{"", "parse: the end stands where a number"}, Row{"tp +", "the end stands where"},
        Row{"tp = 4", "'=' at character 4 is not known: write '=='"},
        Row{"tp && pp", "'&&' at character 4 is not known: write 'and'"},
        Row{"tp || pp", "write 'or'"}, Row{"!sharded", "write 'not'"},
        Row{"tp ** 2", "there are no powers"}, Row{"tp // 2", "write '/'"},
        Row{"1 <= tp <= 8", "'<=' at character 9 makes a chain"},
        Row{"(tp", "the end stands where ')' is needed: '(' at character 1 is still open"},
        Row{"tp)", "')' at character 3 cannot follow"}, Row{"tp pp", "'pp' at character 4"},
        Row{"'full", "close it with '"}, Row{"1.2.3", "'1.2.3' at character 1 is not a number"},
        Row{"4gib", "is not a number"}, Row{"99999999999999999999999e999", "is not a number"},
        Row{"tp # pp", "'#' at character 4 is not known"}, Row{"tp \x01", "byte 1 at character 4"},
        Row{"and", "'and' at character 1 stands where"},
        Row{std::string(60, '(') + "1", "nested deeper than 50"},
        Row{std::string(60, '-') + "1", "nested deeper than 50"},
        Row{std::string(1001, '1'), "may have 1000"}, Row{"tp % 0", "value: 4 % 0 divides by zero"},
        Row{"tp / 0", "divides by zero"}, Row{"share / 0", "divides by zero"},
        Row{"share % 2", "needs whole numbers"}, Row{"tp + recompute", "4 + 'full' needs numbers"},
        Row{"tp and pp", "'and' needs true or"}, Row{"tp == recompute", "two kinds of values"},
        Row{"recompute < 'none'", "has no order"}, Row{"9223372036854775807 + 1", "too large"},
        Row{"1e308 * 10", "too large"}, Row{"-9223372036854775807 - 2", "too large"},
        Row{"chunks == 1", "'chunks' has no value"}));

TEST(ExpressionTest, TheLeastWholeNumberIsDividedWithoutATrap) {
  EXPECT_EQ(Evaluated("(-9223372036854775807 - 1) % -1"), "0");
  EXPECT_THAT(Evaluated("(-9223372036854775807 - 1) / -1"), HasSubstr("too large"));
}

TEST(ExpressionTest, NamesAreListedOnceInOrder) {
  const auto expression = Expression::Parse("world % tp == 0 and pp < tp");
  ASSERT_TRUE(expression.has_value());
  EXPECT_THAT(expression->names(), ElementsAre("pp", "tp", "world"));
}

TEST(ExpressionTest, AConditionThatIsANumberIsRefusedWithAnExample) {
  const auto holds = Expression::Parse("world % tp")->Holds(Layout());
  ASSERT_FALSE(holds.has_value());
  EXPECT_THAT(holds.error().message, HasSubstr("is 0, where true or false is needed: compare it"));
}

TEST(ExpressionTest, WordsOfTheLanguageAreNoNames) {
  EXPECT_TRUE(IsExpressionName("_micro2"));
  for (const char* text : {"", "2tp", "and", "not", "true", "a-b", "a b"}) {
    EXPECT_FALSE(IsExpressionName(text)) << text;
  }
}

}  // namespace
}  // namespace eidolon::controller::search
