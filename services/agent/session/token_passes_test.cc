#include "services/agent/session/token_passes.h"

#include <gtest/gtest.h>

#include <utility>

namespace eidolon::agent::session {
namespace {

namespace wire = ::eidolon::ring;
using wire::CommunicationKind;

constexpr std::uint64_t kIndices = 2048;
constexpr std::uint64_t kColumns = 512;

class TokenPassesTest : public testing::Test {
 protected:
  void LookUp() {
    passes_.NoteWork(sequence_++,
                     {.lookups = {.indices = kIndices, .table_rows = 4096, .row_bytes = 1024}});
  }
  void Multiply(std::uint64_t outputs, std::uint64_t inputs = kColumns) {
    passes_.NoteWork(sequence_++,
                     {.matrix_flops = 2 * kIndices * outputs * inputs,
                      .gemm = {.rows = kIndices, .outputs = outputs, .inputs = inputs}});
  }
  // The elements are bfloat16.
  void Call(CommunicationKind kind, std::uint64_t elements, std::uint32_t size = 2) {
    const wire::CommunicationOp op{.kind = kind, .data_type = 9, .bytes = 2 * elements};
    passes_.NoteCalls(size, {&op, 1});
  }

  // Returns the use of the table since the last call.
  iteration::TableUse Use() {
    const std::uint64_t begin = std::exchange(taken_, sequence_);
    for (const iteration::TableUse& use : passes_.Take(begin, sequence_)) {
      if (use.rows == 4096 && use.row_bytes == 1024) return use;
    }
    return {};
  }
  std::uint32_t Sharers() { return Use().sharers; }

  TokenPasses passes_;
  std::uint64_t sequence_ = 0;
  std::uint64_t taken_ = 0;
};

TEST_F(TokenPassesTest, NobodySharesTokensWhoseRowsAreNotAddedUp) {
  LookUp();
  Call(CommunicationKind::kAllGather, kIndices * kColumns);
  Multiply(kColumns);
  Multiply(4096);
  Call(CommunicationKind::kAllReduce, 4096 * kColumns);

  EXPECT_EQ(Sharers(), 1u);
}

TEST_F(TokenPassesTest, RanksThatAddUpTheRowsThatTheyLookedUpShareTheirTokens) {
  LookUp();
  Call(CommunicationKind::kAllReduce, kIndices * kColumns, 4);

  EXPECT_EQ(Sharers(), 4u);
}

TEST_F(TokenPassesTest, RanksThatAddUpWhatALayerMakesOfTheRowsShareTheirTokens) {
  LookUp();
  Multiply(3 * kColumns);
  Call(CommunicationKind::kReduceScatter, kIndices * kColumns, 8);

  EXPECT_EQ(Sharers(), 8u);
}

TEST_F(TokenPassesTest, AGradientThatIsAsLargeAsTheRowsIsNone) {
  LookUp();
  Multiply(4096);  // The scores: the forward pass ends.
  Call(CommunicationKind::kAllReduce, kIndices * kColumns);

  EXPECT_EQ(Sharers(), 1u);
}

TEST_F(TokenPassesTest, AStageOfAPipelineEndsItsForwardPassBySending) {
  LookUp();
  Call(CommunicationKind::kSend, kIndices * kColumns);
  Call(CommunicationKind::kAllReduce, kIndices * kColumns);

  EXPECT_EQ(Sharers(), 1u);
}

TEST_F(TokenPassesTest, EveryForwardPassIsLookedAt) {
  LookUp();
  Multiply(4096);
  LookUp();
  Call(CommunicationKind::kAllReduce, kIndices * kColumns);

  EXPECT_EQ(Sharers(), 2u);
}

TEST_F(TokenPassesTest, CommunicatorsOfOneRankAndSmallSumsSayNothingOfTokens) {
  LookUp();
  Call(CommunicationKind::kAllReduce, kIndices * kColumns, 1);
  Call(CommunicationKind::kAllReduce, 64);

  EXPECT_EQ(Sharers(), 1u);
}

TEST_F(TokenPassesTest, ALargeSumOfAnotherSizeMakesItUnclear) {
  LookUp();
  Call(CommunicationKind::kAllReduce, kIndices * kColumns / 3);
  Multiply(4096);

  EXPECT_EQ(Sharers(), 0u);
}

TEST_F(TokenPassesTest, ExpertsThatReturnEverybodysRowsShareNoTokens) {
  LookUp();
  Call(CommunicationKind::kReduceScatter, 4 * kIndices * kColumns, 4);
  Multiply(4096);

  EXPECT_EQ(Sharers(), 1u);
}

TEST_F(TokenPassesTest, RowsThatAreGatheredOnTheWayBackAreOfOtherTables) {
  LookUp();
  Multiply(4096);
  passes_.NoteWork(sequence_++,
                   {.lookups = {.indices = 512, .table_rows = kIndices, .row_bytes = 1024}});
  Call(CommunicationKind::kAllReduce, 5'000'000);

  EXPECT_EQ(Sharers(), 1u);
}

TEST_F(TokenPassesTest, AForwardPassIsWhatIsMultipliedUntilTheScores) {
  Multiply(kColumns);
  LookUp();
  Multiply(3 * kColumns);
  passes_.NoteWork(sequence_++, {.matrix_flops = 1000});  // Attention.
  Multiply(4096);
  Multiply(kColumns, 4096);  // Backward.
  Multiply(kColumns, 3 * kColumns);

  EXPECT_EQ(Use().forward_flops, 2 * kIndices * kColumns * (3 * kColumns + 4096) + 1000);
}

TEST_F(TokenPassesTest, ScoresMayBeMadeInParts) {
  LookUp();
  Multiply(kColumns);
  Multiply(4096);
  Multiply(kColumns, 4096);
  Multiply(4096);

  EXPECT_EQ(Use().forward_flops, 2 * kIndices * kColumns * (kColumns + 2 * 4096));
}

TEST_F(TokenPassesTest, PassesBelongToTheIterationInWhichTheyEnd) {
  LookUp();
  Multiply(4096);
  const std::uint64_t first = Use().forward_flops;
  LookUp();
  Multiply(kColumns);
  const std::uint64_t second = Use().forward_flops;
  Multiply(4096);

  EXPECT_EQ(first, 2 * kIndices * kColumns * 4096);
  EXPECT_EQ(second, 0u);
  EXPECT_EQ(Use().forward_flops, 2 * kIndices * kColumns * (kColumns + 4096));
}

TEST_F(TokenPassesTest, SumsOverCommunicatorsOfDifferentSizesMakeItUnclear) {
  LookUp();
  Call(CommunicationKind::kAllReduce, kIndices * kColumns, 2);
  Call(CommunicationKind::kAllReduce, kIndices * kColumns, 4);

  EXPECT_EQ(Sharers(), 0u);
}

}  // namespace
}  // namespace eidolon::agent::session
