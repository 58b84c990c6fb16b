#include "services/timing/answer_cache.h"

#include <gtest/gtest.h>

namespace eidolon::timing {
namespace {

TEST(AnswerCacheTest, FindsWhatWasAdded) {
  AnswerCache cache(100);
  cache.Add({1, 2}, {.duration = base::Duration::Nanoseconds(7)});

  ASSERT_TRUE(cache.Find({1, 2}));
  EXPECT_EQ(cache.Find({1, 2})->duration, base::Duration::Nanoseconds(7));
  EXPECT_FALSE(cache.Find({2, 1}));
}

TEST(AnswerCacheTest, StaysWithinItsLimit) {
  AnswerCache cache(160);
  for (std::uint64_t i = 0; i < 10'000; ++i) cache.Add({i, i}, {});

  EXPECT_LE(cache.size(), 160u);
  EXPECT_TRUE(cache.Find({9'999, 9'999}));
}

TEST(AnswerCacheTest, ForgetsEverythingWhenCleared) {
  AnswerCache cache(10);
  cache.Add({1, 2}, {});
  cache.Clear();

  EXPECT_EQ(cache.size(), 0u);
}

}  // namespace
}  // namespace eidolon::timing
