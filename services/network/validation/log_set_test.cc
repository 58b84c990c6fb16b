#include "services/network/validation/log_set.h"

#include <set>

#include <gtest/gtest.h>

namespace eidolon::network::validation {
namespace {

TEST(LogSetTest, ReadsThePublishedLogs) {
  const auto sets = ParseLogSets(PublishedLogs());

  ASSERT_TRUE(sets.has_value()) << sets.error().message;
  EXPECT_GT(sets->size(), 90u);
  std::set<std::string> names;
  for (const LogSet& set : *sets) {
    EXPECT_TRUE(names.insert(set.name).second) << set.name;
    EXPECT_FALSE(set.points.empty()) << set.name;
    EXPECT_FALSE(set.source.empty()) << set.name;
  }
}

TEST(LogSetTest, RefusesADamagedLineAndNamesIt) {
  struct Case {
    const char* text;
    const char* complaint;
  };
  const Case cases[] = {
      {"8,1.0\n", "before the first set"},
      {"set,a,b\n", "12 fields"},
      {"set,a,s,nvlink,H100,all_reduce,1,8,8,400,fit,x\n8,many\n", "'many' is not a number"},
      {"set,a,s,nvlink,H100,all_reduce,0,8,8,400,fit,x\n", "'0' is not a number between 1"},
      {"set,a,s,nvlink,H100,all_sum,1,8,8,400,fit,x\n", "unknown kind 'all_sum'"},
      {"set,a,s,nvlink,H100,all_reduce,1,8,8,400,train,x\n", "unknown role 'train'"},
  };
  for (const Case& row : cases) {
    const auto sets = ParseLogSets(row.text);

    ASSERT_FALSE(sets.has_value()) << row.text;
    EXPECT_NE(sets.error().message.find(row.complaint), std::string::npos) << sets.error().message;
    EXPECT_NE(sets.error().message.find("line "), std::string::npos);
  }
}

TEST(LogSetTest, BusBandwidthIsThatOfNcclTests) {
  EXPECT_NEAR(BusBandwidth(collective::Kind::kAllReduce, 16, 1 << 30, 4484.9), 448.9, 0.1);
  EXPECT_NEAR(BusBandwidth(collective::Kind::kAllGather, 16, 1 << 30, 3126.8), 321.9, 0.1);
}

}  // namespace
}  // namespace eidolon::network::validation
