#include "services/cli/bench/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::cli::bench {
namespace {

using ::testing::HasSubstr;

TEST(ProgramTest, GivesOutputOfAnySizeAndSetsTheEnvironment) {
  const auto output = RunProgram({.command = {"sh", "-c", "seq 50000; echo $EIDOLON_COLOUR"},
                                  .environment = {{"EIDOLON_COLOUR", "blue"}}});
  ASSERT_TRUE(output.has_value()) << output.error().message;
  EXPECT_TRUE(output->starts_with("1\n2\n"));
  EXPECT_TRUE(output->ends_with("50000\nblue\n"));
}

TEST(ProgramTest, TellsTheLastWordsOfOneThatFails) {
  const auto output = RunProgram(
      {.command = {"sh", "-c", "echo first >&2; echo no torch >&2; exit 3"}, .environment = {}});
  ASSERT_FALSE(output.has_value());
  EXPECT_EQ(output.error().message, "sh ended with 3: no torch");
}

TEST(ProgramTest, TellsTheSignal) {
  const auto output = RunProgram({.command = {"sh", "-c", "kill -9 $$"}, .environment = {}});
  ASSERT_FALSE(output.has_value());
  EXPECT_THAT(output.error().message, HasSubstr("died of signal 9"));
}

TEST(ProgramTest, TellsWhenThereIsNoSuchProgram) {
  const auto output = RunProgram({.command = {"no-such-program"}, .environment = {}});
  ASSERT_FALSE(output.has_value());
  EXPECT_EQ(output.error().code, base::ErrorCode::kNotFound);
  EXPECT_THAT(output.error().message, HasSubstr("no-such-program"));
}

}  // namespace
}  // namespace eidolon::cli::bench
