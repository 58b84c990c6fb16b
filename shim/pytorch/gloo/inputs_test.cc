#include "shim/pytorch/gloo/inputs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

namespace eidolon::shim::gloo {
namespace {

template <typename Number>
std::string Bytes(Number number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

// Of the whole job; the first and the last rank are live.
folding::Twins TwinsOf(std::uint32_t ranks) {
  const auto fold = folding::Fold::Make({.ranks = ranks});
  std::vector<std::uint32_t> members(ranks);
  std::iota(members.begin(), members.end(), 0u);
  return folding::Twins::Of(*fold, members).value();
}

template <typename Number>
std::string OfMirrored2(Number of_rank_0, Number of_rank_3, bool* has_guessed) {
  const folding::Twins twins = TwinsOf(4);
  Inputs inputs(twins, sizeof(Number), {{0, Bytes(of_rank_0)}, {3, Bytes(of_rank_3)}});
  std::string bytes = inputs.Of(2);
  *has_guessed = inputs.has_guessed();
  return bytes;
}

TEST(InputsTest, EqualBytesAreMirrored) {
  bool has_guessed = true;

  EXPECT_EQ(OfMirrored2(1.5f, 1.5f, &has_guessed), Bytes(1.5f));
  EXPECT_FALSE(has_guessed);
}

TEST(InputsTest, IntegersGoOnInEqualSteps) {
  bool has_guessed = true;

  EXPECT_EQ(OfMirrored2<std::int64_t>(10, 40, &has_guessed), Bytes<std::int64_t>(30));
  EXPECT_FALSE(has_guessed);
  EXPECT_EQ(OfMirrored2<std::int32_t>(6, -6, &has_guessed), Bytes<std::int32_t>(-2));
  EXPECT_FALSE(has_guessed);
}

TEST(InputsTest, WhatMayBeAFloatingPointNumberIsMirroredAndCounted) {
  bool has_guessed = false;

  EXPECT_EQ(OfMirrored2(0.0f, 3.0f, &has_guessed), Bytes(0.0f));
  EXPECT_TRUE(has_guessed);
  EXPECT_EQ(OfMirrored2(1.0, 4.0, &has_guessed), Bytes(1.0));
  EXPECT_TRUE(has_guessed);
  EXPECT_EQ(OfMirrored2<std::uint8_t>(1, 4, &has_guessed), Bytes<std::uint8_t>(1)) << "text";
  EXPECT_TRUE(has_guessed);
}

// The integer 0, 3 and 2 as pickles; behind each what was left in the buffer.
TEST(InputsTest, ObjectsGoOnAndHaveRoomForMoreThanTheirTwins) {
  const folding::Twins twins = TwinsOf(4);
  Inputs sizes(twins, 8, {{0, Bytes<std::int64_t>(5)}, {3, Bytes<std::int64_t>(6)}});
  sizes.AreSizesOfObjects();
  EXPECT_EQ(sizes.Of(0), Bytes<std::int64_t>(5));
  EXPECT_EQ(sizes.Of(2), Bytes<std::int64_t>(11));
  EXPECT_FALSE(sizes.has_guessed());

  Inputs objects(
      twins, 1,
      {{0, std::string("\x80\x04K\x00.abc", 8)}, {3, std::string("\x80\x04K\x03.def", 8)}});
  EXPECT_EQ(objects.Of(2), std::string("\x80\x04K\x02.\0\0\0", 8));
  EXPECT_FALSE(objects.has_guessed());
}

TEST(InputsTest, PartsOfAnotherLengthAreCutOrFilled) {
  const folding::Twins twins = TwinsOf(4);
  Inputs inputs(twins, 1, {{0, "abc"}, {3, "abc"}});

  EXPECT_EQ(inputs.Of(1, 3), "abc");
  EXPECT_FALSE(inputs.has_guessed());
  EXPECT_EQ(inputs.Of(1, 2), "ab");
  EXPECT_EQ(inputs.Of(2, 4), std::string("abc\0", 4));
  EXPECT_TRUE(inputs.has_guessed());
}

}  // namespace
}  // namespace eidolon::shim::gloo
