#include "services/agent/session/token_sharing.h"

#include <gtest/gtest.h>

namespace eidolon::agent::session {
namespace {

namespace wire = ::eidolon::ring;
using wire::CommunicationKind;

constexpr std::uint64_t kIndices = 2048;
constexpr std::uint64_t kColumns = 512;

class TokenSharingTest : public testing::Test {
 protected:
  void LookUp() {
    sharing_.NoteWork({.lookups = {.indices = kIndices, .table_rows = 4096, .row_bytes = 1024}});
  }
  void Multiply(std::uint64_t outputs) {
    sharing_.NoteWork({.gemm = {.rows = kIndices, .outputs = outputs, .inputs = kColumns}});
  }
  // Of bfloat16.
  void Call(CommunicationKind kind, std::uint64_t elements, std::uint32_t size = 2) {
    const wire::CommunicationOp op{.kind = kind, .data_type = 9, .bytes = 2 * elements};
    sharing_.NoteCalls(size, {&op, 1});
  }

  // Of the table.
  std::uint32_t Sharers() const {
    for (const iteration::SharedTable& table : sharing_.Shared()) {
      if (table.rows == 4096 && table.row_bytes == 1024) return table.sharers;
    }
    return 1;
  }

  TokenSharing sharing_;
};

TEST_F(TokenSharingTest, NobodySharesTokensWhoseRowsAreNotAddedUp) {
  LookUp();
  Call(CommunicationKind::kAllGather, kIndices * kColumns);
  Multiply(kColumns);
  Multiply(4096);
  Call(CommunicationKind::kAllReduce, 4096 * kColumns);

  EXPECT_EQ(Sharers(), 1u);
}

TEST_F(TokenSharingTest, RanksThatAddUpTheRowsThatTheyLookedUpShareTheirTokens) {
  LookUp();
  Call(CommunicationKind::kAllReduce, kIndices * kColumns, 4);

  EXPECT_EQ(Sharers(), 4u);
}

TEST_F(TokenSharingTest, RanksThatAddUpWhatALayerMakesOfTheRowsShareTheirTokens) {
  LookUp();
  Multiply(3 * kColumns);
  Call(CommunicationKind::kReduceScatter, kIndices * kColumns, 8);

  EXPECT_EQ(Sharers(), 8u);
}

TEST_F(TokenSharingTest, AGradientThatIsAsLargeAsTheRowsIsNone) {
  LookUp();
  Multiply(4096);  // The scores: the forward pass ends.
  Call(CommunicationKind::kAllReduce, kIndices * kColumns);

  EXPECT_EQ(Sharers(), 1u);
}

TEST_F(TokenSharingTest, AStageOfAPipelineEndsItsPassBySending) {
  LookUp();
  Call(CommunicationKind::kSend, kIndices * kColumns);
  Call(CommunicationKind::kAllReduce, kIndices * kColumns);

  EXPECT_EQ(Sharers(), 1u);
}

TEST_F(TokenSharingTest, EveryPassIsLookedAt) {
  LookUp();
  Multiply(4096);
  LookUp();
  Call(CommunicationKind::kAllReduce, kIndices * kColumns);

  EXPECT_EQ(Sharers(), 2u);
}

TEST_F(TokenSharingTest, CommunicatorsOfOneRankAndSmallSumsTellNothing) {
  LookUp();
  Call(CommunicationKind::kAllReduce, kIndices * kColumns, 1);
  Call(CommunicationKind::kAllReduce, 64);

  EXPECT_EQ(Sharers(), 1u);
}

TEST_F(TokenSharingTest, ALargeSumOfAnotherSizeMakesItUnclear) {
  LookUp();
  Call(CommunicationKind::kAllReduce, kIndices * kColumns / 3);
  Multiply(4096);

  EXPECT_EQ(Sharers(), 0u);
}

TEST_F(TokenSharingTest, ExpertsThatReturnEverybodysRowsShareNoTokens) {
  LookUp();
  Call(CommunicationKind::kReduceScatter, 4 * kIndices * kColumns, 4);
  Multiply(4096);

  EXPECT_EQ(Sharers(), 1u);
}

TEST_F(TokenSharingTest, RowsThatAreGatheredOnTheWayBackTellNothingOfOtherTables) {
  LookUp();
  Multiply(4096);
  sharing_.NoteWork({.lookups = {.indices = 512, .table_rows = kIndices, .row_bytes = 1024}});
  Call(CommunicationKind::kAllReduce, 5'000'000);

  EXPECT_EQ(Sharers(), 1u);
  ASSERT_EQ(sharing_.Shared().size(), 1u);
  EXPECT_EQ(sharing_.Shared()[0].rows, kIndices);
  EXPECT_EQ(sharing_.Shared()[0].sharers, 0u);
}

TEST_F(TokenSharingTest, SumsOverCommunicatorsOfDifferentSizesMakeItUnclear) {
  LookUp();
  Call(CommunicationKind::kAllReduce, kIndices * kColumns, 2);
  Call(CommunicationKind::kAllReduce, kIndices * kColumns, 4);

  EXPECT_EQ(Sharers(), 0u);
}

}  // namespace
}  // namespace eidolon::agent::session
