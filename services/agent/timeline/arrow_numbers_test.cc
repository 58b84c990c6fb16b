#include "services/agent/timeline/arrow_numbers.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace eidolon::agent::timeline {
namespace {

// A program of `layers` layers of six operations each, whose host is some operations ahead.
std::vector<Arrow> Layers(std::uint64_t layers, std::uint64_t ahead) {
  std::vector<Arrow> arrows;
  for (std::uint64_t i = 0; i < 6 * layers; ++i) {
    arrows.push_back({.from = 100 * i, .to = 100 * (i + ahead) + 50, .what = i % 6});
  }
  return arrows;
}

TEST(ArrowNumbersTest, LayersGetTheNumbersOfEarlierLayers) {
  ArrowNumbers numbers;
  std::map<std::uint32_t, std::uint64_t> what;
  for (const Arrow& arrow : Layers(100, 10)) {
    const ArrowNumbers::Number number = numbers.Next(arrow);

    EXPECT_TRUE(number.ends);
    EXPECT_EQ(what.try_emplace(number.value, arrow.what).first->second, arrow.what);
  }
  EXPECT_LT(what.size(), 24u);
}

TEST(ArrowNumbersTest, NoNumberIsGivenBeforeItsArrowIsOver) {
  for (const std::uint64_t ahead : {0, 1, 7, 40}) {
    ArrowNumbers numbers;
    std::map<std::uint32_t, std::uint64_t> over;
    for (const Arrow& arrow : Layers(50, ahead)) {
      const std::uint32_t number = numbers.Next(arrow).value;

      if (const auto before = over.find(number); before != over.end()) {
        EXPECT_LT(before->second, arrow.from);
      }
      over[number] = arrow.to;
    }
  }
}

TEST(ArrowNumbersTest, AnArrowThatDoesNotLeadForwardHasANumberOfItsOwn) {
  ArrowNumbers numbers;
  std::set<std::uint32_t> seen;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const ArrowNumbers::Number number = numbers.Next({.from = 100 * i, .to = 100 * i, .what = 1});

    EXPECT_FALSE(number.ends);
    EXPECT_TRUE(seen.insert(number.value).second);
  }
}

}  // namespace
}  // namespace eidolon::agent::timeline
