#include "services/network/collective/tuning.h"

#include <gtest/gtest.h>

namespace eidolon::network::collective {
namespace {

TEST(TuningTest, AnEmptyEnvironmentAllowsEverything) {
  const auto tuning = ParseTuning({{"PATH", "/bin"}, {"NCCL_DEBUG", "INFO"}});

  ASSERT_TRUE(tuning.has_value());
  EXPECT_EQ(*tuning, Tuning{});
}

TEST(TuningTest, ReadsNcclsGrammarOfLists) {
  const auto tuning = ParseTuning(
      {{"NCCL_ALGO", "ring,NVLS;allreduce:tree"}, {"NCCL_PROTO", "^LL128;broadcast:Simple"}});

  ASSERT_TRUE(tuning.has_value()) << tuning.error().message;
  EXPECT_TRUE(tuning->For(Kind::kAllGather).Allows(Algorithm::kRing));
  EXPECT_TRUE(tuning->For(Kind::kAllGather).Allows(Algorithm::kNvls));
  EXPECT_FALSE(tuning->For(Kind::kAllGather).Allows(Algorithm::kPat));
  EXPECT_FALSE(tuning->For(Kind::kAllReduce).Allows(Algorithm::kRing));
  EXPECT_TRUE(tuning->For(Kind::kAllReduce).Allows(Algorithm::kTree));
  EXPECT_FALSE(tuning->For(Kind::kAllReduce).Allows(Protocol::kLl128));
  EXPECT_TRUE(tuning->For(Kind::kAllReduce).Allows(Protocol::kLl));
  EXPECT_FALSE(tuning->For(Kind::kBroadcast).Allows(Protocol::kLl));
}

TEST(TuningTest, ReadsNumbersAndSwitches) {
  const auto tuning = ParseTuning({{"NCCL_MAX_NCHANNELS", "4"},
                                   {"NCCL_MIN_CTAS", "2"},
                                   {"NCCL_NVLS_ENABLE", "0"},
                                   {"NCCL_BUFFSIZE", "8388608"},
                                   {"NCCL_PXN_DISABLE", "1"}});

  ASSERT_TRUE(tuning.has_value()) << tuning.error().message;
  EXPECT_EQ(tuning->channels_max, 4u);
  EXPECT_EQ(tuning->channels_min, 2u);
  EXPECT_FALSE(tuning->nvls);
  EXPECT_FALSE(tuning->pxn);
  EXPECT_EQ(tuning->buffer_bytes, 8u << 20);
}

TEST(TuningTest, ListsWhatTheModelLacks) {
  const auto tuning = ParseTuning({{"NCCL_P2P_LEVEL", "SYS"}, {"NCCL_IB_HCA", "mlx5_0"}});

  ASSERT_TRUE(tuning.has_value());
  EXPECT_EQ(tuning->unmodelled,
            (std::vector<std::string>{"NCCL_IB_HCA=mlx5_0", "NCCL_P2P_LEVEL=SYS"}));
}

TEST(TuningTest, RefusesWhatNcclRefusesAndNamesIt) {
  struct Case {
    const char* name;
    const char* value;
    const char* complaint;
  };
  const Case cases[] = {{"NCCL_ALGO", "rign", "'rign' is unknown"},
                        {"NCCL_PROTO", "LL,LL256", "'LL256' is unknown"},
                        {"NCCL_ALGO", "gather:ring", "function 'gather' is unknown"},
                        {"NCCL_ALGO", "ring;tree", "'tree' names no function"},
                        {"NCCL_MAX_NCHANNELS", "many", "between 0 and 1024"},
                        {"NCCL_BUFFSIZE", "-1", "between 0"}};
  for (const Case& row : cases) {
    const auto tuning = ParseTuning({{row.name, row.value}});

    ASSERT_FALSE(tuning.has_value()) << row.value;
    EXPECT_NE(tuning.error().message.find(row.complaint), std::string::npos)
        << tuning.error().message;
    EXPECT_NE(tuning.error().message.find(row.name), std::string::npos);
  }
}

}  // namespace
}  // namespace eidolon::network::collective
