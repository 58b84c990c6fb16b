#include "services/controller/job/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>

namespace eidolon::controller::job {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kVocabulary = 50304;
constexpr std::uint64_t kWidth = 768;
constexpr std::uint64_t kTokens = 8192;

Lookups Embedding(std::uint64_t indices) {
  return {.indices = indices, .table_rows = kVocabulary, .row_bytes = 2 * kWidth};
}
// The GEMMs of the last layer: forward, and its two gradients, where `backward`.
std::vector<GemmRows> Scores(std::uint64_t rows, bool backward = true) {
  std::vector<GemmRows> gemms = {{.rows = rows, .outputs = kVocabulary, .inputs = kWidth},
                                 {.rows = rows, .outputs = 3 * kWidth, .inputs = kWidth}};
  if (backward) {
    gemms.push_back({.rows = rows, .outputs = kWidth, .inputs = kVocabulary});
    gemms.push_back({.rows = kVocabulary, .outputs = kWidth, .inputs = rows});
  }
  return gemms;
}
TokenWork Model(std::uint64_t indices, std::uint64_t rows) {
  return {.lookups = {Embedding(indices)}, .gemms = Scores(rows)};
}

// One iteration of some ranks, each of which stands for itself.
base::Result<DerivedTokens> DeriveAll(const std::vector<TokenWork>& ranks) {
  std::vector<RankTokens> told;
  for (const TokenWork& rank : ranks) told.push_back({.first = &rank, .iterations = {&rank}});
  return DeriveTokens(told);
}

base::Result<double> CountOf(const base::Result<DerivedTokens>& derived) {
  if (!derived) return std::unexpected(derived.error());
  return derived->count;
}

base::Result<double> Derive(const std::vector<TokenWork>& ranks) {
  return CountOf(DeriveAll(ranks));
}

std::string ReasonOf(const std::vector<TokenWork>& ranks) {
  const auto derived = Derive(ranks);
  return derived ? "derived" : derived.error().message;
}

TEST(TokensTest, AreTheIndicesThatAreLookedUpAndScored) {
  EXPECT_EQ(Derive({Model(kTokens, kTokens)}), kTokens);
}

// Returns work as torch.compile leaves it: two layers, and a lookup of which only the elements are
// known.
TokenWork CompiledModel(std::uint64_t tokens) {
  TokenWork work{.lookups = {{.indices = tokens * kWidth}}, .gemms = Scores(tokens)};
  for (GemmRows& gemm : work.gemms) {
    if (gemm.outputs == 3 * kWidth) gemm.launches = 2;
  }
  work.gemms.push_back({.rows = tokens, .outputs = kWidth, .inputs = 3 * kWidth, .launches = 2});
  return work;
}

TEST(TokensTest, OfACompiledModelAreTheRowsThatOneMatrixScoresOnce) {
  EXPECT_EQ(Derive({CompiledModel(kTokens)}), kTokens);
  EXPECT_EQ(Derive({CompiledModel(kTokens), CompiledModel(kTokens)}), 2 * kTokens);
}

TEST(TokensTest, OfACompiledModelThatScoresNothingOnceAreNotDerived) {
  TokenWork work = CompiledModel(kTokens);
  for (GemmRows& gemm : work.gemms) gemm.launches = 2;

  EXPECT_EQ(ReasonOf({work}),
            "a compiler has fused the lookup of rows, and no GEMM scores each of them once");
}

TEST(TokensTest, IgnoreTablesOfPositionsAndKinds) {
  TokenWork work = Model(kTokens, kTokens);
  work.lookups.push_back({.indices = 1024, .table_rows = 1024, .row_bytes = 2 * kWidth});
  work.lookups.push_back({.indices = kTokens, .table_rows = 2, .row_bytes = 2 * kWidth});

  EXPECT_EQ(Derive({work}), kTokens);
}

TEST(TokensTest, AreFoundInATableOfFloatsThatIsScoredInBfloat16) {
  TokenWork work = Model(kTokens, kTokens);
  work.lookups[0].row_bytes = 4 * kWidth;

  EXPECT_EQ(Derive({work}), kTokens);
}

TEST(TokensTest, CountALeftOutLastOneOfEachSequence) {
  EXPECT_EQ(Derive({Model(8 * 1024, 8 * 1023)}), 8 * 1024);
}

TEST(TokensTest, OfDataParallelRanksAddUp) {
  EXPECT_EQ(Derive({Model(kTokens, kTokens), Model(kTokens, kTokens)}), 2 * kTokens);
}

TEST(TokensTest, OfRanksThatShareThemCountOnce) {
  TokenWork work = Model(kTokens, kTokens);
  work.lookups[0].sharers = 2;

  EXPECT_EQ(Derive({work, work, work, work}), 2 * kTokens);
}

TEST(TokensTest, AreLookedUpInTheFirstStageOfAPipelineAndScoredInTheLast) {
  const TokenWork first = {.lookups = {Embedding(kTokens)}};
  const TokenWork middle = {.gemms = {{.rows = kTokens, .outputs = kWidth, .inputs = kWidth}}};
  const TokenWork last = {.gemms = Scores(kTokens)};

  EXPECT_EQ(Derive({first, middle, last}), kTokens);
}

TEST(TokensTest, OfLiveRanksStandForThoseThatAreMirrored) {
  const TokenWork work = Model(kTokens, kTokens);
  TokenWork shared = work;
  shared.lookups[0].sharers = 8;

  const auto plain = DeriveTokens({{.weight = 512, .first = &work, .iterations = {&work}},
                                   {.weight = 512, .first = &work, .iterations = {&work}}});
  const auto tensor_parallel =
      DeriveTokens({{.weight = 64, .first = &shared, .iterations = {&shared}}});

  EXPECT_EQ(CountOf(plain), 1024 * kTokens);
  EXPECT_EQ(CountOf(tensor_parallel), 8 * kTokens);
}

TEST(TokensTest, AreAMeanOverIterationsOfDifferentLengths) {
  const TokenWork first = Model(1000, 1000);
  const TokenWork second = {.lookups = {Embedding(3000)}};

  EXPECT_EQ(CountOf(DeriveTokens({{.first = &first, .iterations = {&first, &second}}})), 2000);
}

TEST(TokensTest, OfInferenceAreThoseThatAreScored) {
  EXPECT_EQ(Derive({{.lookups = {Embedding(kTokens)}, .gemms = Scores(kTokens, false)}}), kTokens);
}

TEST(TokensTest, MayBeAsManyAsTheTableHasRows) {
  TokenWork work = Model(kVocabulary, kVocabulary);
  work.gemms[2].rows += kVocabulary;  // The matrix's gradient is a GEMM of the same size then.

  EXPECT_EQ(Derive({work}), kVocabulary);
}

TEST(TokensTest, AreNotDerivedWithoutATable) {
  EXPECT_THAT(ReasonOf({{.gemms = Scores(kTokens)}}), HasSubstr("no launch looks up rows"));
  EXPECT_THAT(ReasonOf({}), HasSubstr("no iteration"));
}

TEST(TokensTest, AreNotDerivedFromATableThatIsNotScored) {
  // An encoder that classifies sentences.
  TokenWork work = Model(kTokens, kTokens);
  work.gemms = {{.rows = 16, .outputs = 2, .inputs = kWidth}};

  EXPECT_EQ(ReasonOf({work}),
            "8192 indices are looked up in a table of 50304 rows, which no GEMM scores");
}

TEST(TokensTest, AreNotDerivedWhereSomeOfThemAreScoredOnly) {
  // An encoder and a decoder with one table; the first step of a generation; a context that is
  // divided behind the table.
  EXPECT_THAT(ReasonOf({Model(kTokens, kTokens / 2)}), HasSubstr("4096 rows are scored"));
  EXPECT_THAT(ReasonOf({Model(kTokens, 16)}), HasSubstr("16 rows are scored"));
  EXPECT_THAT(ReasonOf({Model(kTokens, 2 * kTokens)}), HasSubstr("16384 rows are scored"));
}

TEST(TokensTest, AreNotDerivedWhereNotAllThatIsScoredIsTrained) {
  // A model that is compared with another, or a forward pass that is computed twice.
  TokenWork work = Model(2 * kTokens, 2 * kTokens);
  work.gemms[2].rows = kTokens;

  EXPECT_THAT(ReasonOf({work}), HasSubstr("but 8192 go the way back"));
}

TEST(TokensTest, MayBeScoredAgainForTheBackwardPass) {
  TokenWork work = Model(8 * 14, 2 * 8 * 13);  // One of each sequence is left out.
  work.gemms[2].rows = 8 * 13;

  EXPECT_EQ(Derive({work}), 8 * 14);
  EXPECT_EQ(Derive({work, work}), 2 * 8 * 14);
  work.gemms[2].rows = 0;
  EXPECT_THAT(ReasonOf({work}), HasSubstr("208 rows are scored")) << "nothing goes back";
}

TEST(TokensTest, AreNotDerivedWhereTwoTablesTellDifferentNumbers) {
  TokenWork work = Model(kTokens, kTokens);
  work.lookups.push_back({.indices = 512, .table_rows = 1000, .row_bytes = 2 * kWidth});
  work.gemms.push_back({.rows = 512, .outputs = 1000, .inputs = kWidth});

  EXPECT_THAT(ReasonOf({work}), HasSubstr("several tables"));
}

TEST(TokensTest, AreNotDerivedWhereItIsNotClearWhoSharesThem) {
  TokenWork unclear = Model(kTokens, kTokens);
  unclear.lookups[0].sharers = 0;
  TokenWork alone = Model(kTokens, kTokens);
  alone.lookups[0].sharers = 3;

  EXPECT_THAT(ReasonOf({unclear}), HasSubstr("whose tokens are the same"));
  EXPECT_THAT(ReasonOf({alone}), HasSubstr("different numbers"));
}

// A rank whose forward pass takes 100 operations of `all`.
TokenWork Trained(std::uint64_t all) {
  TokenWork work = Model(kTokens, kTokens);
  work.lookups[0].forward_flops = 100;
  work.matrix_flops = all;
  return work;
}

double ModelFlopsOf(const std::vector<TokenWork>& ranks) {
  return DeriveAll(ranks).value_or(DerivedTokens{}).model_flops;
}

TEST(TokensTest, TakeAModelThreeForwardPassesWhateverIsComputedAgain) {
  EXPECT_EQ(ModelFlopsOf({Trained(300)}), 300);
  EXPECT_EQ(ModelFlopsOf({Trained(405)}), 300);
  EXPECT_EQ(ModelFlopsOf({Trained(300), Trained(300)}), 600);
}

TEST(TokensTest, DoNotTellWhatAModelTakesWhereNotAllOfItIsTrained) {
  EXPECT_EQ(ModelFlopsOf({Trained(200)}), 0) << "frozen layers";
  TokenWork adapted = Trained(300);  // What is frozen is computed again.
  adapted.gemms.pop_back();
  EXPECT_EQ(ModelFlopsOf({adapted}), 0) << "a frozen table";
  TokenWork inference = Trained(100);
  inference.gemms = Scores(kTokens, false);
  EXPECT_EQ(ModelFlopsOf({inference}), 0) << "nothing is trained";
}

TEST(TokensTest, DoNotTellWhatTheStagesOfAPipelineTake) {
  const TokenWork first = {.lookups = {Embedding(kTokens)}, .matrix_flops = 300};
  const TokenWork last = {.gemms = Scores(kTokens), .matrix_flops = 300};

  EXPECT_EQ(Derive({first, last}), kTokens);
  EXPECT_EQ(ModelFlopsOf({first, last}), 0);
}

}  // namespace
}  // namespace eidolon::controller::job
