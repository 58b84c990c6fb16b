#include "services/cli/job_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "services/testing/temporary_directory.h"

namespace eidolon::cli {
namespace {

using ::testing::HasSubstr;

class JobDocumentTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(directory_.path() + "/" + name) << text;
    return directory_.path() + "/" + name;
  }

  testing::TemporaryDirectory directory_;
};

TEST_F(JobDocumentTest, ReadsWhatTheCommandPrintsAsJsonAndAsYaml) {
  const auto as_json = ReadJobDocument(Write("a.json", R"({"status": {"phase": "Complete"}})"));
  const auto as_yaml = ReadJobDocument(Write("a.yaml", "status:\n  phase: Complete\n"));

  ASSERT_TRUE(as_json && as_yaml);
  EXPECT_EQ(*as_json, *as_yaml);
}

TEST_F(JobDocumentTest, RefusesWhatIsNoJobThatHasRunAndNamesTheFile) {
  EXPECT_THAT(ReadJobDocument(Write("a.yaml", "spec: {servers: 2}\n")).error().message,
              HasSubstr("a.yaml: holds no job that has run; 'eidolon get JOB -o json'"));
  EXPECT_THAT(ReadJobDocument(Write("b.json", "{\"items\": ")).error().message,
              HasSubstr("b.json"));
  EXPECT_THAT(ReadJobDocument(directory_.path() + "/none.json").error().message,
              HasSubstr("none.json"));
}

}  // namespace
}  // namespace eidolon::cli
