#include "services/controller/outputs/critical_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "services/contract/critical_path/trace_file.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::outputs {
namespace {

using ::testing::HasSubstr;

constexpr std::uintmax_t kBytesMax = 1 << 20;

class CriticalPathTest : public ::testing::Test {
 protected:
  // A rank that waits for nothing but its host.
  std::string Server(std::int32_t rank, std::int64_t length_ps) {
    critical_path::RankTrace trace;
    trace.rank = rank;
    trace.finish = {length_ps};
    trace.launch_gaps = {{1}};
    trace.names = {"kernel"};
    trace.operations = {{.ready = {10}, .start = {10}, .finish = {length_ps}}};
    const std::string path = folder_ / ("server-" + std::to_string(rank));
    std::ofstream file(path, std::ios::binary);
    critical_path::Write(trace, &file);
    return path;
  }

  testing::TemporaryDirectory folder_;
};

TEST_F(CriticalPathTest, IsThatOfTheRanksOfAllServers) {
  const auto summary = FindCriticalPath({Server(0, 100), Server(1, 200)}, kBytesMax);

  ASSERT_TRUE(summary.has_value()) << summary.error().message;
  EXPECT_EQ(summary->length, base::Duration{200});
  ASSERT_EQ(summary->ranks.size(), 1u);
  EXPECT_EQ(summary->ranks[0].rank, 1);
  EXPECT_EQ(summary->ranks_shown, 2u);
}

TEST_F(CriticalPathTest, IsNotFoundWithoutTracesOrWithUnsoundOnes) {
  const std::string empty = folder_ / "empty";
  std::ofstream(empty).close();
  const std::string unsound = folder_ / "unsound";
  std::ofstream(unsound) << "EIDPATH1";

  EXPECT_THAT(FindCriticalPath({empty}, kBytesMax).error().message,
              HasSubstr("no rank has a trace"));
  EXPECT_EQ(FindCriticalPath({unsound}, kBytesMax).error().code, base::ErrorCode::kCorrupt);
  EXPECT_THAT(FindCriticalPath({folder_ / "missing"}, kBytesMax).error().message,
              HasSubstr("cannot read"));
}

TEST_F(CriticalPathTest, IsNotLookedForInMoreThanMayBeRead) {
  EXPECT_THAT(FindCriticalPath({Server(0, 100), Server(1, 200)}, 100).error().message,
              HasSubstr("more than the 100"));
}

}  // namespace
}  // namespace eidolon::controller::outputs
