#include "shim/value/author_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace eidolon::shim::value {
namespace {

constexpr std::uint64_t kBase = 0x200000000000;

TEST(AuthorTest, KernelsHaveReadableNames) {
  EXPECT_EQ(ReadableName("_ZN2at6native13reduce_kernelILi512ELi1EfEEvT1_"),
            "at::native::reduce_kernel<512, 1, float>");
  EXPECT_EQ(ReadableName("_ZN2at6native46_GLOBAL__N__c6fb32e9_9_Reduce_cu_41c7bf40_49426kernelEPf"),
            "at::native::kernel");
  EXPECT_EQ(ReadableName("_ZN2at38_INTERNAL_1f2e_9_Reduce_cu_41c7bf40_1k6kernelIfEEvPT_"),
            "at::kernel<float>");
  EXPECT_EQ(ReadableName("_ZN12_GLOBAL__N_16kernelEPf"), "kernel");
  EXPECT_EQ(ReadableName("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
  EXPECT_EQ(ReadableName("_Znonsense"), "_Znonsense");
  EXPECT_EQ(ReadableName("a\nb"), "a b");
}

TEST(AuthorTest, NamesKeepTheirNumbers) {
  const Author one = InternAuthor("author_test_one");
  const Author other = InternAuthor("author_test_other");

  EXPECT_NE(one, other);
  EXPECT_EQ(InternAuthor("author_test_one"), one);
  EXPECT_EQ(TitleOf(other), "author_test_other");
  EXPECT_EQ(TitleOf(kByCollective), "a collective of unknown bytes");
}

TEST(AuthorTest, TheLastWriterOfAPointerIsFound) {
  const auto table = std::make_unique<AuthorTable>();
  table->Note({.author = 10, .pointer = 1, .call = 0, .begin = kBase});
  table->Note({.author = 11, .pointer = 2, .call = 7, .begin = kBase});

  EXPECT_EQ(table->Find(kBase), (Origin{11, 2, 7, kBase}));
  EXPECT_EQ(table->Find(kBase + (1 << 30)).author, kNobody);
}

TEST(AuthorTest, APartOfATensorIsByWhoWroteTheTensor) {
  const auto table = std::make_unique<AuthorTable>();
  table->Note({.author = 10, .begin = kBase});
  table->Note({.author = 11, .begin = kBase + 8192});

  EXPECT_EQ(table->Find(kBase + 8188).begin, kBase);
  EXPECT_EQ(table->Find(kBase + 8196).author, 11);
}

TEST(AuthorTest, LargeBuffersAreToldApart) {
  // As allocators give large buffers, and so many that all entries of the table are in use.
  constexpr std::uint64_t kBuffer = 2 << 20;
  constexpr std::uint64_t kAsked = 1 << 12;
  const auto table = std::make_unique<AuthorTable>();
  for (std::uint64_t i = 0; i < 1 << 17; ++i) {
    table->Note({.author = 10, .begin = kBase + 2 * i * kBuffer});
  }

  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < kAsked; ++i) {
    wrong += table->Find(kBase + (2 * i + 1) * kBuffer).author != kNobody ? 1 : 0;
  }

  EXPECT_LT(wrong, kAsked / 100);
}

TEST(AuthorTest, ACopyIsByWhoWroteItsSource) {
  const auto table = std::make_unique<AuthorTable>();
  table->Note({.author = 10, .pointer = 2, .begin = kBase});
  table->Follow(kBase + 4096, kBase);

  EXPECT_EQ(table->Find(kBase + 4096), (Origin{10, 2, 0, kBase + 4096}));
}

TEST(AuthorTest, CallsOfAnAuthorAreCounted) {
  const auto table = std::make_unique<AuthorTable>();

  EXPECT_EQ(table->NextCall(10), 0u);
  EXPECT_EQ(table->NextCall(10), 1u);
  EXPECT_EQ(table->NextCall(11), 0u);
}

}  // namespace
}  // namespace eidolon::shim::value
