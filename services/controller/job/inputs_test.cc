#include "services/controller/job/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace eidolon::controller::job {
namespace {

using testing::HasSubstr;

TokenWork With(const ProgramInputs& inputs) {
  TokenWork work;
  work.inputs = inputs;
  return work;
}

base::Result<DerivedInputs> Derive(const std::vector<TokenWork>& ranks, double weight = 1) {
  std::vector<RankTokens> list;
  for (const TokenWork& rank : ranks) {
    list.push_back({.weight = weight, .first = &rank, .iterations = {&rank}});
  }
  return DeriveInputs(list);
}

std::string ReasonOf(const std::vector<TokenWork>& ranks) {
  const auto derived = Derive(ranks);
  return derived ? "derived" : derived.error().message;
}

TEST(InputsTest, SamplesOfRanksAddUpAndMirroredRanksCount) {
  const std::vector<TokenWork> ranks(2, With({.samples = 16}));

  EXPECT_EQ(*Derive(ranks), (DerivedInputs{.samples = 32}));
  EXPECT_EQ(*Derive(ranks, 4), (DerivedInputs{.samples = 128}));
}

TEST(InputsTest, AnIterationCountsAsTheMeanOfThoseThatRepeat) {
  const TokenWork few = With({.samples = 4, .tokens = 40});
  const TokenWork many = With({.samples = 8, .tokens = 60});
  EXPECT_EQ(*DeriveInputs({{.first = &few, .iterations = {&few, &many}}}),
            (DerivedInputs{.samples = 6, .tokens = 50}));
}

TEST(InputsTest, ALoadersSamplesComeBeforeRowsOfTheModel) {
  // Pairs of preferences: two rows for each sample, whose tokens are not those of samples.
  EXPECT_EQ(*Derive({With({.samples = 8, .tokens = 800, .batch = 4})}),
            (DerivedInputs{.samples = 4}));
  EXPECT_EQ(*Derive({With({.samples = 4, .tokens = 400, .batch = 4})}),
            (DerivedInputs{.samples = 4, .tokens = 400}));
  EXPECT_EQ(*Derive({With({.batch = 4})}), (DerivedInputs{.samples = 4}));
}

TEST(InputsTest, OnlyTheFirstStageOfAPipelineCounts) {
  const TokenWork first = With({.samples = 32});
  const TokenWork later = With({.samples = 32, .is_later_stage = true});

  EXPECT_EQ(*Derive({first, later}), (DerivedInputs{.samples = 32}));
  EXPECT_THAT(ReasonOf({later, later}), HasSubstr("every rank receives"));
}

TEST(InputsTest, NothingIsDerivedWhereRanksMayShareSamplesOrSomeAreUnknown) {
  const TokenWork known = With({.samples = 16});

  EXPECT_THAT(ReasonOf({known, With({.samples = 16, .is_clear = false})}),
              HasSubstr("the same samples"));
  EXPECT_THAT(ReasonOf({known, With({.samples = 0})}), HasSubstr("no dimension in common"));
  EXPECT_THAT(ReasonOf({known, TokenWork{}}), HasSubstr("calls no module"));
  EXPECT_THAT(ReasonOf({}), HasSubstr("no iteration"));
}

}  // namespace
}  // namespace eidolon::controller::job
