#include "services/network/replay/flow_file.h"

#include <gtest/gtest.h>

namespace eidolon::network::replay {
namespace {

constexpr const char* kHead =
    "# two hosts under one switch\n"
    "V 1 small\n"
    "N 0 root 1 S\nN 1 a 2 H\nN 2 b 2 H\n"
    "L 0 0 1 1000000000\nL 1 0 2 2000000000\n"
    "T 1\nR 0 1 2 2 1 2\nC 2\n";

TEST(FlowFileTest, ReadsCablesRoutesAndFlows) {
  const auto file = ParseFlowFile(std::string(kHead) + "F 0 0 1000 0 0\nF 1 500 2000 0 1 0\n");

  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->name, "small");
  EXPECT_EQ(file->capacities, (std::vector<std::uint64_t>{1'000'000'000, 1'000'000'000,
                                                          2'000'000'000, 2'000'000'000}));
  ASSERT_EQ(file->flows.size(), 2u);
  EXPECT_EQ(file->flows[1].start_ps, 500'000);
  EXPECT_EQ(file->LinksOf(0).size(), 2u);
  EXPECT_EQ(file->DependenciesOf(file->flows[1]).front(), 0u);
}

TEST(FlowFileTest, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char* text;
    const char* complaint;
  };
  const Case cases[] = {
      {"F 0 0 1000 1 0\n", "route 1 does not exist"},
      {"F 1 0 1000 0 0\n", "flow 1 comes where 0 should"},
      {"F 0 0 many 0 0\n", "'many' is not a size"},
      {"F 0 0 2000000000000000000 0 0\n", "size is 2000000000000000000"},
      {"F 0 0 1000 0 1 0\n", "count of flows is 1"},
      {"R 1 1 2 0\n", "a route has no links"},
      {"R 1 1 2 1 9\n", "link 9 does not exist"},
      {"R 1 1 2 3 0 1 0\n", "the route passes link 0 twice"},
      {"L 3 0 1 5\n", "cable 3 comes where 2 should"},
      {"L 2 0 1 0\nR 1 1 2 1 4\nF 0 0 1 1 0\n", "its link 4 has no capacity"},
      {"X 1\n", "unknown record 'X'"},
      {"V 2 later\n", "version is 2"},
      {"N 4 c 2 H\n", "node 4 comes where 3 should"},
      {"N 3 c deep H\n", "'deep' is not a depth"},
      {"N 3 c 2 router\n", "'router' is neither H (host) nor S (switch)"},
      {"N 3\n", "a node has no name"},
      {"T 2\n", "tree is 2"},
      {"T yes\n", "'yes' is not a tree"},
      {"C 2\n", "the flows are counted twice"},
      {"L 2 0 3 5\n", "node 3 does not exist"},
      {"R 1 1 b 1 0\n", "'b' is not a node"},
  };
  for (const Case& row : cases) {
    const auto file = ParseFlowFile(std::string(kHead) + row.text);

    ASSERT_FALSE(file.has_value()) << row.text;
    EXPECT_NE(file.error().message.find(row.complaint), std::string::npos) << file.error().message;
    EXPECT_NE(file.error().message.find("line "), std::string::npos);
  }
}

TEST(FlowFileTest, FlowsAreAsManyAsTheyAreCounted) {
  const auto cut = ParseFlowFile(std::string(kHead) + "F 0 0 1000 0 0\n");
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().message, "flows: 1, announced: 2");

  const auto damaged = ParseFlowFile("C -1\n");
  ASSERT_FALSE(damaged.has_value());
  EXPECT_EQ(damaged.error().message, "line 1: '-1' is not a count of all flows");
}

}  // namespace
}  // namespace eidolon::network::replay
