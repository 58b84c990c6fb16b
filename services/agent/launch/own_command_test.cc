#include "services/agent/launch/own_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace eidolon::agent::launch {
namespace {

using ::testing::ElementsAre;

TEST(OwnCommandTest, IsTheProgramThatTheKernelNames) {
  EXPECT_THAT(OwnCommandOf({"./agent", "--metrics", "a:1"}, "./agent", "/opt/bin/agent"),
              ElementsAre("/opt/bin/agent"));
  EXPECT_THAT(OwnCommandOf({"renamed"}, "agent", "/opt/bin/agent"), ElementsAre("/opt/bin/agent"))
      << "its words say nothing";
}

TEST(OwnCommandTest, KeepsTheLoaderThatItWasStartedWith) {
  EXPECT_THAT(
      OwnCommandOf({"/in/lib/ld.so", "--library-path", "/in/lib", "/in/agent", "--print-lines"},
                   "/in/agent", "/in/lib/ld.so"),
      ElementsAre("/in/lib/ld.so", "--library-path", "/in/lib", "/in/agent"));
}

TEST(OwnCommandTest, OfThisTestIsThisTest) {
  const auto command = OwnCommand();

  ASSERT_TRUE(command) << command.error().message;
  EXPECT_THAT(*command, ElementsAre(std::filesystem::read_symlink("/proc/self/exe").string()));
}

}  // namespace
}  // namespace eidolon::agent::launch
