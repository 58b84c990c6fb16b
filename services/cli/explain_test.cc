#include "services/cli/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/controller/rest/embedded.h"
#include "services/controller/search/schema.h"

namespace eidolon::cli {
namespace {

using ::testing::HasSubstr;

std::string Explained(const std::string& field) {
  const auto text = Explain(controller::rest::OpenApiDocument(), field);
  return text ? *text : "error: " + text.error().message;
}

TEST(ExplainTest, AFieldHasItsTypeAndItsDescription) {
  const std::string text = Explained("job.spec.iterations.warmup");
  EXPECT_THAT(text, HasSubstr("job.spec.iterations.warmup  (integer)\n"));
  EXPECT_THAT(text, HasSubstr("do not count"));
}

TEST(ExplainTest, AnObjectNamesTheFieldsBelow) {
  EXPECT_THAT(Explained("cluster.spec"), HasSubstr("\n  fabric  "));
  EXPECT_THAT(Explained("cluster.spec.fabric.faults"), HasSubstr("(list of object)"));
}

TEST(ExplainTest, ASweepIsExplainedToo) {
  EXPECT_THAT(Explained("sweep.spec.concurrency"), HasSubstr("at most: 64"));
  EXPECT_THAT(Explained("sweep.status.points"), HasSubstr("\n  headroomBytes  "));
}

TEST(ExplainTest, ASearchIsExplainedFromItsOwnSchema) {
  const auto text = Explain(controller::search::SearchSchema(), "search.spec");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("\n  constraints  "));
}

TEST(ExplainTest, APathWithoutADocumentIsOfAJob) {
  EXPECT_EQ(Explained("spec.limits"), Explained("job.spec.limits"));
}

TEST(ExplainTest, AMisspeltFieldIsAnsweredWithTheNearestName) {
  EXPECT_THAT(Explained("job.spec.iteration"),
              HasSubstr("'job.spec' has no field 'iteration'; did you mean 'iterations'?"));
  EXPECT_THAT(Explained("job.spec.suspend.now"), HasSubstr("has no fields"));
}

TEST(ExplainTest, ADamagedSchemaIsAnError) {
  EXPECT_FALSE(Explain("{", "job"));
  EXPECT_FALSE(Explain("{}", "job"));
}

}  // namespace
}  // namespace eidolon::cli
