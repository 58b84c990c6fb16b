#include "services/cli/values/explain.h"
#include "source_tree.h"

#include <gtest/gtest.h>

namespace eidolon::cli::values {
namespace {

const std::string kSample =
    std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/zstandard.fatbin";

TEST(ExplainTest, ShowsParametersCodeAndThatTheKernelCanBeRun) {
  const auto text = Explain({.file = kSample, .pattern = "scale"});

  ASSERT_TRUE(text) << text.error().message;
  EXPECT_NE(text->find("kernel         scale\n"), std::string::npos) << *text;
  EXPECT_NE(text->find("parameter 1    4 bytes at 0x218 of bank 0\n"), std::string::npos) << *text;
  EXPECT_NE(text->find("can be run     yes\n"), std::string::npos) << *text;
  EXPECT_NE(text->find("LDG.E R"), std::string::npos) << *text;
}

TEST(ExplainTest, LeavesTheCodeOutAndNamesOtherMatches) {
  const auto text = Explain({.file = kSample, .pattern = "l", .code = false});

  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->find("LDG"), std::string::npos) << *text;
  EXPECT_NE(text->find("more kernels have 'l' in their names"), std::string::npos) << *text;
}

TEST(ExplainTest, SaysWhatItDidNotFind) {
  EXPECT_FALSE(Explain({.file = "/nowhere.so", .pattern = "scale"}));
  EXPECT_FALSE(Explain({.file = kSample, .pattern = "no such kernel"}));
}

}  // namespace
}  // namespace eidolon::cli::values
