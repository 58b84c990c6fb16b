#include "services/cli/net/collective_table.h"

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
