#include "services/controller/job/label_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::controller::job {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Labelled(const json& labels) { return {{"metadata", {{"labels", labels}}}}; }

bool Matches(const std::string& selector, const json& labels) {
  const auto parsed = LabelSelector::Parse(selector);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed && parsed->Matches(Labelled(labels));
}

TEST(LabelSelectorTest, SelectsAsKubernetesDoes) {
  const json labels = {{"team", "a"}, {"example.org/model", "llama-8b"}};
  for (const char* selector :
       {"", " ", "team=a", "team==a", "team = a", "team", "!gpu", "team!=b", "gpu!=b",
        "team in (a, b)", "team in(a)", "team notin (b)", "gpu notin (b)",
        "team=a, example.org/model=llama-8b", "team in (a,b),!gpu"}) {
    EXPECT_TRUE(Matches(selector, labels)) << selector;
  }
  for (const char* selector : {"team=b", "team!=a", "!team", "gpu", "gpu=", "team in (b, c)",
                               "team notin (a)", "team=a,gpu", "team="}) {
    EXPECT_FALSE(Matches(selector, labels)) << selector;
  }
  EXPECT_TRUE(Matches("empty=", {{"empty", ""}}));
}

TEST(LabelSelectorTest, TakesObjectsWithoutLabels) {
  const auto selector = LabelSelector::Parse("!team");
  ASSERT_TRUE(selector);
  EXPECT_TRUE(selector->Matches(json::object()));
  EXPECT_TRUE(selector->Matches(json(3)));
  EXPECT_TRUE(selector->Matches({{"metadata", {{"labels", "x"}}}}));
}

TEST(LabelSelectorTest, NamesWhatItDoesNotUnderstand) {
  for (const char* selector : {"a=b,", ",", "=b", "!=b", "!", "a b", "a in b", "a in (", "a in ()",
                               "(a)", "a(b)", "a like (b)", "a=b=c", "a=(b)", "a=b c", "a=<"}) {
    const auto parsed = LabelSelector::Parse(selector);
    ASSERT_FALSE(parsed) << selector;
    EXPECT_THAT(parsed.error().message, HasSubstr("is not understood; requirements look like"));
  }
}

}  // namespace
}  // namespace eidolon::controller::job
