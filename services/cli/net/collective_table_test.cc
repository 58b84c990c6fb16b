#include "services/cli/net/collective_table.h"

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace eidolon::cli::net {
namespace {

TEST(CollectiveTableTest, PrintsOneLineForEachSizeWithNcclsChoice) {
  const auto table = CollectiveTable({.bytes_min = 1 << 20, .bytes_max = 4 << 20});

  ASSERT_TRUE(table.has_value()) << table.error().message;
  EXPECT_NE(table->find("# all_reduce, 8 ranks on 1 nodes of dgx-h100"), std::string::npos);
  EXPECT_NE(table->find("1048576"), std::string::npos);
  EXPECT_NE(table->find("4194304"), std::string::npos);
  EXPECT_EQ(table->find("8388608"), std::string::npos);
  EXPECT_NE(table->find("nvls"), std::string::npos);
}

TEST(CollectiveTableTest, ObeysNcclsSwitchesAndSaysWhichItDoesNotKnow) {
  const auto table = CollectiveTable(
      {.bytes_min = 1 << 30,
       .bytes_max = 1 << 30,
       .environment = {"NCCL_ALGO=Ring", "NCCL_PROTO=LL128", "NCCL_P2P_LEVEL=SYS"}});

  ASSERT_TRUE(table.has_value()) << table.error().message;
  EXPECT_NE(table->find("ring"), std::string::npos);
  EXPECT_NE(table->find("ll128"), std::string::npos);
  EXPECT_NE(table->find("NCCL_P2P_LEVEL=SYS has no effect"), std::string::npos);
}

TEST(CollectiveTableTest, ARackOfOneNvlinkDomainIsOneNode) {
  const auto table =
      CollectiveTable({.topology = "gb200-nvl72", .bytes_min = 1 << 30, .bytes_max = 1 << 30});

  ASSERT_TRUE(table.has_value()) << table.error().message;
  EXPECT_NE(table->find("72 ranks on 1 nodes"), std::string::npos);
  EXPECT_NE(table->find("nvls"), std::string::npos);
}

// Two servers' 8 NICs of 48.9 GB/s each meet half of that above their leaves.
TEST(CollectiveTableTest, ANarrowFabricMakesItLongerAndIsNamed) {
  const auto rate = [](const std::string& oversubscription) {
    const std::string path = testing::TempDir() + "/narrow.yaml";
    std::ofstream(path) << "servers: 2\nserver: {preset: dgx-h100}\nfabric: {preset: leaf-spine, "
                        << "cardsPerLeaf: 8, oversubscription: " << oversubscription << "}\n";
    const auto table = CollectiveTable({.kind = "all_gather",
                                        .topology = path,
                                        .bytes_min = std::uint64_t{8} << 30,
                                        .bytes_max = std::uint64_t{8} << 30});
    EXPECT_EQ(table->find("too narrow") != std::string::npos, oversubscription != "1");
    std::istringstream row(table->substr(table->find("    8589934592")));
    double bytes, us, bandwidth;
    row >> bytes >> us >> bandwidth;
    return bandwidth;
  };

  EXPECT_NEAR(rate("1"), 360, 40);
  EXPECT_NEAR(rate("4"), 8 * 48.9 / 4 * 16 / 15, 1);
}

TEST(CollectiveTableTest, SaysWhatIsWrong) {
  EXPECT_NE(CollectiveTable({.kind = "all_reduse"}).error().message.find("'all_reduse'"),
            std::string::npos);
  EXPECT_NE(CollectiveTable({.topology = "dgx-h9000"}).error().message.find("'dgx-h9000'"),
            std::string::npos);
  EXPECT_NE(CollectiveTable({.topology = "./none.yaml"}).error().message.find("./none.yaml"),
            std::string::npos);
  EXPECT_NE(CollectiveTable({.members = 9}).error().message.find("--members is 9"),
            std::string::npos);
  EXPECT_NE(CollectiveTable({.bytes_min = 0}).error().message.find("2^50"), std::string::npos);
  EXPECT_NE(CollectiveTable({.environment = {"NCCL_ALGO=Rign"}})
                .error()
                .message.find("NCCL_ALGO='Rign': 'Rign' is unknown"),
            std::string::npos);
}

}  // namespace
}  // namespace eidolon::cli::net
