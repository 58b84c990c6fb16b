#include "services/contract/ring/declaration.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace eidolon::ring {
namespace {

TEST(DeclarationTest, WhatWasPrintedIsReadAgain) {
  std::vector<Declaration> all(2);
  all[0] = {.number = 1,
            .type = ElementType::kBfloat16,
            .pointer = 2,
            .kernel = "*reduce_kernel*",
            .line = "router.py:120",
            .value = 0.1};
  all[1] = {.kind = DeclarationKind::kIndices,
            .number = 2,
            .type = ElementType::kInt64,
            .kernel = "gatherTopK",
            .experts = 3,
            .tokens = 4096,
            .top_k = 2,
            .seed = 9,
            .shares = {{1, 2, 0}, {5, 0, 0}}};

  const std::vector<Declaration> back = ParseDeclarations(PrintDeclarations(all));

  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].type, ElementType::kBfloat16);
  EXPECT_EQ(back[0].kernel, all[0].kernel);
  EXPECT_EQ(back[0].line, all[0].line);
  EXPECT_EQ(back[0].pointer, 2);
  EXPECT_EQ(back[0].value, 0.1);
  EXPECT_EQ(back[1].kind, DeclarationKind::kIndices);
  EXPECT_EQ(back[1].number, 2u);
  EXPECT_EQ(back[1].experts, 3u);
  EXPECT_EQ(back[1].tokens, 4096u);
  EXPECT_EQ(back[1].top_k, 2u);
  EXPECT_EQ(back[1].seed, 9u);
  EXPECT_EQ(back[1].shares, all[1].shares);
}

TEST(DeclarationTest, DamagedLinesAreLeftOut) {
  const std::string good = "value\t1\tfloat32\t-1\tnorm\t\t1\n";
  for (const char* line :
       {"", "value", "value\t1\tfloat3\t-1\tk\t\t1", "value\t1\tfloat32\t-2\tk\t\t1",
        "value\t1\tfloat32\t-1\tk\t\tone", "other\t1\tfloat32\t-1\tk\t\t1", "shares\t1\t2",
        "counts\t1\tint64\t-1\tk\t\t0\t4\t1\t0", "counts\t1\tint64\t-1\tk\t\t2\t4\t3\t0",
        "indices\t1\tint64\t-1\tk\t\t8\t4194304\t8\t0"}) {
    EXPECT_EQ(ParseDeclarations(std::string(line) + "\n" + good).size(), 1u) << line;
  }
}

TEST(DeclarationTest, SharesOfTheWrongNumberOrWithoutAnyWeightAreLeftOut) {
  const std::string head = "counts\t1\tint64\t-1\tk\t\t2\t4\t1\t0\n";

  EXPECT_TRUE(ParseDeclarations(head + "shares\t1\n")[0].shares.empty());
  EXPECT_TRUE(ParseDeclarations(head + "shares\t0\t0\n")[0].shares.empty());
  EXPECT_TRUE(ParseDeclarations(head + "shares\t1\t-1\n")[0].shares.empty());
  EXPECT_EQ(ParseDeclarations(head + "shares\t1\t0\n")[0].shares.size(), 1u);
}

TEST(DeclarationTest, TypesHaveNamesAndSizes) {
  EXPECT_EQ(ElementTypeOf("int64"), ElementType::kInt64);
  EXPECT_EQ(BytesOf(ElementType::kInt64), 8u);
  EXPECT_EQ(NameOf(ElementType::kBool), "bool");
  EXPECT_FALSE(ElementTypeOf("double"));
}

}  // namespace
}  // namespace eidolon::ring
