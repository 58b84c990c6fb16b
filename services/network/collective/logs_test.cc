#include "services/network/collective/logs.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

namespace eidolon::network::collective {
namespace {

std::vector<LogRow> Rows() {
  auto rows = LoadLogs(EIDOLON_SOURCE_DIR "/services/network/collective/nccl_logs.csv");
  EXPECT_TRUE(rows.has_value()) << rows.error().message;
  return rows.value_or(std::vector<LogRow>{});
}

struct Band {
  const char* name;
  const char* gpu;
  Kind kind;
  std::uint32_t nodes, members;
  std::uint64_t least, most;
  double mean_error;
};

TEST(LogsTest, TheModelMeetsPublishedLogs) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const Band bands[] = {
      {"2x8 H100 small", "H100", Kind::kAllReduce, 2, 8, 0, 65536, 0.10},
      {"4x8 H100 small", "H100", Kind::kAllReduce, 4, 8, 0, 65536, 0.10},
      {"2x8 H100 large", "H100", Kind::kAllReduce, 2, 8, 512 * kMiB, ~0ull, 0.03},
      {"4x8 H100 large", "H100", Kind::kAllReduce, 4, 8, 512 * kMiB, ~0ull, 0.03},
      {"2x8 H100 middle", "H100", Kind::kAllReduce, 2, 8, 65537, 512 * kMiB, 0.22},
      {"8 H100 all-reduce", "H100", Kind::kAllReduce, 1, 8, 256 * kMiB, ~0ull, 0.07},
      {"8 H100 all-gather", "H100", Kind::kAllGather, 1, 8, 16 * kMiB, ~0ull, 0.05},
      {"8 H100 reduce-scatter", "H100", Kind::kReduceScatter, 1, 8, 16 * kMiB, ~0ull, 0.05},
      {"4 H100 all-reduce", "H100", Kind::kAllReduce, 1, 4, 256 * kMiB, ~0ull, 0.07},
      {"8 A100 all-reduce", "A100", Kind::kAllReduce, 1, 8, 64 * kMiB, ~0ull, 0.12},
      {"2x8 H200 all-gather", "H200", Kind::kAllGather, 2, 8, 256 * kMiB, ~0ull, 0.12},
      {"10x1 H100 all-reduce", "H100", Kind::kAllReduce, 10, 1, 256 * kMiB, ~0ull, 0.10},
      {"8 H100 sendrecv", "H100", Kind::kPointToPoint, 1, 8, 0, ~0ull, 0.07},
      {"4 H100 sendrecv", "H100", Kind::kPointToPoint, 1, 4, 0, ~0ull, 0.07},
      {"8 H100 all-to-all", "H100", Kind::kAllToAll, 1, 8, 0, ~0ull, 0.12},
      {"10x8 H100 all-to-all", "H100", Kind::kAllToAll, 10, 8, 0, ~0ull, 0.12},
  };
  const std::vector<LogRow> rows = Rows();
  for (const Band& band : bands) {
    double sum = 0;
    int count = 0;
    for (const LogRow& row : rows) {
      if (row.gpu != band.gpu || row.kind != band.kind || row.nodes != band.nodes ||
          row.members_per_node != band.members || row.bytes < band.least || row.bytes > band.most) {
        continue;
      }
      sum += std::fabs(ModelledUs(row) / row.measured_us - 1);
      ++count;
    }
    ASSERT_GT(count, 0) << band.name;
    EXPECT_LE(sum / count, band.mean_error) << band.name;
  }
}

TEST(LogsTest, RefusesADamagedRowAndNamesIt) {
  const auto rows = ParseLogs("header\nH100,all_reduce,1,8,8,400,many,3.0,1\n");

  ASSERT_FALSE(rows.has_value());
  EXPECT_NE(rows.error().message.find("'many' is not a number"), std::string::npos);
}

}  // namespace
}  // namespace eidolon::network::collective
