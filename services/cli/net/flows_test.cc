#include "services/cli/net/flows.h"
#include "source_tree.h"

#include <fstream>

#include <gtest/gtest.h>

namespace eidolon::cli::net {
namespace {

TEST(FlowsTest, ReplaysAFileAndDumpsEveryFinish) {
  const std::string dump = testing::TempDir() + "flows_test.dump";

  const auto line = ReplayFlows(
      {.file = EIDOLON_SOURCE_DIR "/services/network/replay/testdata/random.flows", .dump = dump});

  ASSERT_TRUE(line.has_value()) << line.error().message;
  EXPECT_NE(line->find("\"completed\":250"), std::string::npos);
  std::ifstream file(dump);
  int count = 0;
  for (double finish = 0; file >> finish; ++count) EXPECT_GT(finish, 0);
  EXPECT_EQ(count, 250);
}

TEST(FlowsTest, NamesAFileThatIsNotThere) {
  const auto line = ReplayFlows({.file = "/nowhere/a.flows"});

  ASSERT_FALSE(line.has_value());
  EXPECT_NE(line.error().message.find("/nowhere/a.flows"), std::string::npos);
}

}  // namespace
}  // namespace eidolon::cli::net
