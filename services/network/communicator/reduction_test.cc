#include "services/network/communicator/reduction.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "services/base/small_float.h"
#include "services/network/communicator/element.h"

namespace eidolon::network::communicator {
namespace {

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
std::vector<T> Values(const std::optional<std::string>& bytes) {
  std::vector<T> values;
  if (!bytes) return values;
  values.resize(bytes->size() / sizeof(T));
  std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

template <typename T>
std::vector<T> Reduce(std::uint32_t type, std::uint32_t reduction,
                      const std::vector<std::vector<T>>& inputs) {
  std::vector<std::string> bytes;
  for (const auto& input : inputs) bytes.push_back(Bytes(input));
  const std::vector<std::string_view> views(bytes.begin(), bytes.end());
  return Values<T>(Combine(type, reduction, views));
}

template <typename T>
void CheckIntegers(std::uint32_t type) {
  using V = std::vector<T>;
  const std::vector<V> inputs = {{1, 7, 100}, {2, 3, 20}, {3, 5, 7}};
  EXPECT_EQ(Reduce<T>(type, kSum, inputs), (V{6, 15, 127}));
  EXPECT_EQ(Reduce<T>(type, kProduct, {{1, 7, 2}, {2, 3, 3}, {3, 5, 4}}), (V{6, 105, 24}));
  EXPECT_EQ(Reduce<T>(type, kMaximum, inputs), (V{3, 7, 100}));
  EXPECT_EQ(Reduce<T>(type, kMinimum, inputs), (V{1, 3, 7}));
  EXPECT_EQ(Reduce<T>(type, kAverage, inputs), (V{2, 5, 42}));
}

TEST(ReductionTest, CombinesIntegersOfEveryWidth) {
  CheckIntegers<std::int8_t>(kInt8);
  CheckIntegers<std::uint8_t>(kUint8);
  CheckIntegers<std::int32_t>(kInt32);
  CheckIntegers<std::uint32_t>(kUint32);
  CheckIntegers<std::int64_t>(kInt64);
  CheckIntegers<std::uint64_t>(kUint64);
}

TEST(ReductionTest, IntegersWrapAround) {
  using Limits = std::numeric_limits<std::int32_t>;
  EXPECT_EQ(Reduce<std::int32_t>(kInt32, kSum, {{Limits::max()}, {1}}),
            (std::vector<std::int32_t>{Limits::min()}));
  EXPECT_EQ(Reduce<std::int8_t>(kInt8, kProduct, {{-128}, {-1}}), (std::vector<std::int8_t>{-128}));
  EXPECT_EQ(Reduce<std::int32_t>(kInt32, kAverage, {{-3}, {0}}), (std::vector<std::int32_t>{-1}));
}

TEST(ReductionTest, CombinesFloats) {
  using V = std::vector<float>;
  const std::vector<V> inputs = {{1.5f, -1}, {2.25f, 4}};
  EXPECT_EQ(Reduce<float>(kFloat32, kSum, inputs), (V{3.75f, 3}));
  EXPECT_EQ(Reduce<float>(kFloat32, kAverage, inputs), (V{1.875f, 1.5f}));
  EXPECT_EQ(Reduce<float>(kFloat32, kMinimum, inputs), (V{1.5f, -1}));
  EXPECT_EQ(Reduce<double>(kFloat64, kProduct, {{3.0}, {0.5}}), (std::vector<double>{1.5}));
}

TEST(ReductionTest, RoundsASumOfHalvesOnce) {
  // 2048 + 1 + 1: rounding after each addition would stay at 2048.
  const auto half = [](double value) {
    return std::vector<std::uint16_t>{base::Encode(base::kHalf, value)};
  };
  const auto sum = Reduce<std::uint16_t>(kFloat16, kSum, {half(2048), half(1), half(1)});
  EXPECT_EQ(base::Decode(base::kHalf, sum[0]), 2050);
}

TEST(ReductionTest, CombinesEveryShortFloat) {
  const auto check = [](std::uint32_t type, base::SmallFloat format, auto zero) {
    using Bits = decltype(zero);
    const auto encode = [&](double value) {
      return std::vector<Bits>{static_cast<Bits>(base::Encode(format, value))};
    };
    const auto run = [&](std::uint32_t reduction) {
      return base::Decode(format, Reduce<Bits>(type, reduction, {encode(2), encode(-4)})[0]);
    };
    EXPECT_EQ(run(kSum), -2);
    EXPECT_EQ(run(kProduct), -8);
    EXPECT_EQ(run(kMaximum), 2);
    EXPECT_EQ(run(kMinimum), -4);
    EXPECT_EQ(run(kAverage), -1);
  };
  check(kFloat16, base::kHalf, std::uint16_t{});
  check(kBfloat16, base::kBrain, std::uint16_t{});
  check(kFloat8E4m3, base::kE4m3, std::uint8_t{});
  check(kFloat8E5m2, base::kE5m2, std::uint8_t{});
}

TEST(ReductionTest, NotANumberWins) {
  const auto result = Reduce<float>(kFloat32, kMaximum, {{NAN}, {1}});
  ASSERT_EQ(result.size(), 1u);
  EXPECT_TRUE(std::isnan(result[0]));
}

TEST(ReductionTest, WhatItDoesNotKnowHasNoValue) {
  const std::vector<std::string_view> same = {"abcd", "efgh"};
  EXPECT_FALSE(Combine(kFloat32, 5, same).has_value());
  EXPECT_FALSE(Combine(99, kSum, same).has_value());
  EXPECT_FALSE(Combine(kInt64, kSum, same).has_value());
  EXPECT_FALSE(Combine(kInt8, kSum, std::vector<std::string_view>{"ab", "c"}).has_value());
  EXPECT_FALSE(Combine(kInt8, kSum, {}).has_value());
}

}  // namespace
}  // namespace eidolon::network::communicator
