#include "shim/value/declared.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace eidolon::shim::value {
namespace {

using ring::Declaration;
using ring::DeclarationKind;
using ring::ElementType;

constexpr std::uint64_t kDeclaredBase = 0x200000000000;

template <typename T>
T As(const std::vector<unsigned char>& bytes) {
  T value{};
  EXPECT_EQ(bytes.size(), sizeof(value));
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(value)));
  return value;
}

TEST(DeclaredTest, PatternsAreGlobsOrPartsOfNames) {
  const std::string name = "at::native::reduce_kernel<512, 1, NormTwoOps<float> >";
  EXPECT_TRUE(FitsPattern(name, "reduce_kernel"));
  EXPECT_TRUE(FitsPattern(name, "*reduce_kernel*Norm?woOps*"));
  EXPECT_TRUE(FitsPattern(name, "at::*>"));
  EXPECT_FALSE(FitsPattern(name, "reduce_kernel*"));
  EXPECT_FALSE(FitsPattern(name, "*reduce_kernel"));
  EXPECT_FALSE(FitsPattern(name, "MeanOps"));
  EXPECT_FALSE(FitsPattern("", "?"));
  EXPECT_TRUE(FitsPattern("", "*"));
}

TEST(DeclaredTest, LinesFitByTheEndOfTheirPath) {
  EXPECT_TRUE(FitsLine("/home/me/router.py:120", "router.py:120"));
  EXPECT_TRUE(FitsLine("/home/me/router.py:120", "me/router.py:120"));
  EXPECT_TRUE(FitsLine("router.py:120", "router.py:120"));
  EXPECT_FALSE(FitsLine("/home/me/my_router.py:120", "router.py:120"));
  EXPECT_FALSE(FitsLine("/home/me/router.py:1200", "router.py:120"));
  EXPECT_FALSE(FitsLine("", "router.py:120"));
}

TEST(DeclaredTest, NumbersTakeTheFormOfTheirType) {
  EXPECT_EQ(As<float>(BytesOfNumber(0.1, ElementType::kFloat32)), 0.1f);
  EXPECT_EQ(As<double>(BytesOfNumber(0.1, ElementType::kFloat64)), 0.1);
  EXPECT_EQ(As<std::int64_t>(BytesOfNumber(-7.9, ElementType::kInt64)), -7);
  EXPECT_EQ(As<std::int8_t>(BytesOfNumber(1e9, ElementType::kInt8)), 127);
  EXPECT_EQ(As<std::uint8_t>(BytesOfNumber(-1, ElementType::kUint8)), 0);
  EXPECT_EQ(As<std::uint8_t>(BytesOfNumber(0.5, ElementType::kBool)), 1);
  EXPECT_EQ(As<std::int64_t>(BytesOfNumber(1e300, ElementType::kInt64)),
            std::numeric_limits<std::int64_t>::max());
}

TEST(DeclaredTest, NarrowFloatsAreRoundedToTheNearest) {
  const auto half = [](double v) {
    return As<std::uint16_t>(BytesOfNumber(v, ElementType::kFloat16));
  };
  const auto brain = [](double v) {
    return As<std::uint16_t>(BytesOfNumber(v, ElementType::kBfloat16));
  };
  EXPECT_EQ(half(0), 0x0000);
  EXPECT_EQ(half(1), 0x3c00);
  EXPECT_EQ(half(-2), 0xc000);
  EXPECT_EQ(half(65504), 0x7bff);
  EXPECT_EQ(half(65520), 0x7c00);
  EXPECT_EQ(half(1e9), 0x7c00);
  EXPECT_EQ(half(std::ldexp(1, -24)), 0x0001);
  EXPECT_EQ(half(std::ldexp(1, -14)), 0x0400);
  EXPECT_EQ(half(1 + std::ldexp(1, -11)), 0x3c00);
  EXPECT_EQ(half(1 + 3 * std::ldexp(1, -11)), 0x3c02);
  EXPECT_EQ(brain(1), 0x3f80);
  EXPECT_EQ(brain(0.1), 0x3dcd);
  EXPECT_EQ(brain(3e38), 0x7f62);
  EXPECT_EQ(brain(-1e300), 0xff80);
}

TEST(DeclaredTest, OnlyUnknownElementsAreFilled) {
  const auto store = std::make_unique<Store>();
  const float known = 5;
  store->Write(kDeclaredBase + 4, &known, sizeof(known));
  float host[3] = {0, 5, 0};
  const Declaration declaration{.type = ElementType::kFloat32, .value = 0.5};
  auto* bytes = reinterpret_cast<unsigned char*>(host);

  EXPECT_TRUE(FillUnknown(declaration, *store, kDeclaredBase, bytes, sizeof(host)));
  EXPECT_EQ(host[0], 0.5f);
  EXPECT_EQ(host[1], 5.0f);
  EXPECT_EQ(host[2], 0.5f);
  EXPECT_FALSE(FillUnknown(declaration, *store, kDeclaredBase, bytes, 6));
}

TEST(DeclaredTest, TheFirstValueThatFitsWriterPointerAndLineIsTaken) {
  const Author norm = InternAuthor("declared_test_norm");
  Declared declared({{.number = 1, .pointer = 1, .kernel = "declared_test_norm", .value = 1},
                     {.number = 2, .kernel = "*test_norm", .line = "train.py:4", .value = 2},
                     {.number = 3, .line = "train.py:5", .value = 3}},
                    0);
  const auto number = [&](const Origin& origin, const char* line) {
    const Declaration* found = declared.FindValue(origin, line);
    return found == nullptr ? 0 : found->number;
  };

  EXPECT_TRUE(declared.needs_lines());
  EXPECT_EQ(number({.author = norm, .pointer = 1}, "/a/train.py:4"), 1u);
  EXPECT_EQ(number({.author = norm, .pointer = 0}, "/a/train.py:4"), 2u);
  EXPECT_EQ(number({.author = kNobody}, "/a/train.py:5"), 3u);
  EXPECT_EQ(number({.author = norm}, ""), 0u);
}

class RoutingInMemoryTest : public ::testing::Test {
 protected:
  RoutingInMemoryTest() {
    store_.authors().Note({.author = router_, .pointer = 2, .call = 3, .begin = kDeclaredBase});
  }

  static Declaration Routing(DeclarationKind kind) {
    return {.kind = kind,
            .number = 1,
            .type = ElementType::kInt64,
            .pointer = 2,
            .kernel = "declared_test_router",
            .experts = 8,
            .tokens = 100,
            .top_k = 2,
            .seed = 1};
  }

  std::vector<std::int64_t> Read(std::size_t count) {
    std::vector<std::int64_t> numbers(count);
    EXPECT_EQ(store_.Read(kDeclaredBase, numbers.data(), count * 8), 0u);
    return numbers;
  }

  const Author router_ = InternAuthor("declared_test_router");
  Store store_;
};

TEST_F(RoutingInMemoryTest, WhoeverLooksFirstTheVectorIsTheSame) {
  Declared declared({Routing(DeclarationKind::kIndices)}, 0);
  ASSERT_TRUE(declared.Provide(store_, kDeclaredBase + 8 * 150));
  const auto first = Read(200);
  store_.MakeStale(kDeclaredBase, kDeclaredBase + 1600);
  ASSERT_TRUE(declared.Provide(store_, kDeclaredBase));

  EXPECT_EQ(Read(200), first);
  EXPECT_FALSE(store_.IsKnown(kDeclaredBase + 1600, 1));
  store_.authors().Note({.author = router_, .pointer = 2, .call = 4, .begin = kDeclaredBase});
  ASSERT_TRUE(declared.Provide(store_, kDeclaredBase));
  EXPECT_NE(Read(200), first);
}

TEST_F(RoutingInMemoryTest, CountsAreOneForEachExpert) {
  Declared declared({Routing(DeclarationKind::kCounts)}, 0);
  ASSERT_TRUE(declared.Provide(store_, kDeclaredBase + 8));

  EXPECT_EQ(Read(8), std::vector<std::int64_t>(8, 25));
}

TEST_F(RoutingInMemoryTest, OtherMemoryIsLeftAlone) {
  Declared declared({Routing(DeclarationKind::kCounts)}, 0);
  store_.authors().Note({.author = router_, .pointer = 1, .begin = kDeclaredBase + 4096});

  EXPECT_FALSE(declared.Provide(store_, kDeclaredBase + 64));
  EXPECT_FALSE(declared.Provide(store_, kDeclaredBase + 4096));
  EXPECT_FALSE(declared.Provide(store_, kDeclaredBase + (1 << 30)));
  EXPECT_FALSE(store_.HasKnown(0, ~std::uint64_t{0}));
  EXPECT_TRUE(declared.TakeUses().empty());
}

TEST_F(RoutingInMemoryTest, ItsFirstUseIsTold) {
  Declared declared({Routing(DeclarationKind::kCounts)}, 0);
  ASSERT_TRUE(declared.Provide(store_, kDeclaredBase));
  ASSERT_TRUE(declared.Provide(store_, kDeclaredBase));

  const auto uses = declared.TakeUses();
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].declaration->number, 1u);
  EXPECT_EQ(uses[0].author, router_);
  EXPECT_TRUE(declared.TakeUses().empty());
}

}  // namespace
}  // namespace eidolon::shim::value
