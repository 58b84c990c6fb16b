#include "services/agent/outcome/line_pattern.h"

#include <gtest/gtest.h>

namespace eidolon::agent::outcome {
namespace {

LinePattern Compiled(const std::string& pattern) {
  return std::move(*LinePattern::Compile(pattern));
}

TEST(LinePatternTest, FindsThePatternAnywhereInALine) {
  LinePattern pattern = Compiled("iteration done");

  EXPECT_TRUE(pattern.EndsIteration("[rank0] iteration done, loss 1.5"));
  EXPECT_FALSE(pattern.EndsIteration("iteration 7"));
  EXPECT_TRUE(pattern.EndsIteration("iteration done"));
}

TEST(LinePatternTest, CountsALineOfSeveralRanksOnce) {
  LinePattern pattern = Compiled(R"(step (\d+))");

  EXPECT_TRUE(pattern.EndsIteration("step 1"));
  EXPECT_FALSE(pattern.EndsIteration("step 1"));
  EXPECT_TRUE(pattern.EndsIteration("step 2"));
}

TEST(LinePatternTest, SaysWhatIsWrongWithAPattern) {
  const auto pattern = LinePattern::Compile("step (");

  ASSERT_FALSE(pattern);
  EXPECT_EQ(pattern.error().message, "log pattern 'step (': missing ): step (");
}

// A backtracking matcher needs a stack frame for each character, or exponential time.
TEST(LinePatternTest, TakesTheLongestLinesAndTheWorstPatterns) {
  const std::string line = "loss: " + std::string(64 << 10, 'x');

  EXPECT_FALSE(Compiled("loss: (.*) done").EndsIteration(line));
  EXPECT_FALSE(Compiled("(x+x+)+y").EndsIteration(line));
}

}  // namespace
}  // namespace eidolon::agent::outcome
