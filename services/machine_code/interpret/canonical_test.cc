#include "services/machine_code/interpret/canonical.h"

#include <gtest/gtest.h>

#include "services/machine_code/sass/form.h"
#include "services/machine_code/sass/print.h"

namespace eidolon::interpret {
namespace {

using sass::Dialect;
using sass::Word;

struct Case {
  const char* name;
  Dialect dialect;
  Word word;
  const char* before;
  const char* after;
};

class CanonicalTest : public testing::TestWithParam<Case> {};

TEST_P(CanonicalTest, DoesTheSameInTheTermsOf90) {
  const Case& test = GetParam();
  ASSERT_EQ(sass::Print(test.word, 0x100, test.dialect), test.before);

  const auto word = Canonical(test.word, test.dialect);

  ASSERT_TRUE(word);
  EXPECT_EQ(sass::Print(*word, 0x100, CanonicalDialect(test.dialect)), test.after);
}

constexpr Case kCases[] = {
    {"Minimum",
     Dialect::k80,
     {0x0000000002c57217, 0x000fc80003800200},
     "IMNMX R197, R2, R0, PT",
     "VIMNMX R197, R2, R0, PT"},
    {"UnsignedMaximum",
     Dialect::k80,
     {0x0000000218007817, 0x000fca0007800000},
     "IMNMX.U32 R0, R24, 0x2, !PT",
     "VIMNMX.U32 R0, R24, 0x2, !PT"},
    {"Addition",
     Dialect::k80,
     {0x000000000200798e, 0x008fe8000c10e7a4},
     "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R2.64], R0",
     "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR36][R2.64], R0"},
    {"DoubleAddition",
     Dialect::k80,
     {0x000000020400798e, 0x004fe2000c10ed86},
     "RED.E.ADD.F64.RN.STRONG.GPU [R4.64], R2",
     "REDG.E.ADD.F64.RN.STRONG.GPU desc[UR6][R4.64], R2"},
    {"LongMaximum",
     Dialect::k80,
     {0x000000020400798e, 0x004fe2000d10eb86},
     "RED.E.MAX.S64.STRONG.GPU [R4.64], R2",
     "REDG.E.MAX.S64.STRONG.GPU desc[UR6][R4.64], R2"},
    {"IntegerAddition",
     Dialect::k80,
     {0x00000005020279a8, 0x000ea800081ee1c6},
     "ATOMG.E.ADD.STRONG.GPU PT, R2, [R2.64], R5",
     "ATOMG.E.ADD.STRONG.GPU PT, R2, desc[UR6][R2.64], R5"},
    {"Branch",
     Dialect::k80,
     {0x0000001000000947, 0x000ff60003800000},
     "@P0 BRA 0x120",
     "@P0 BRA 0x120"},
    {"BranchBack", Dialect::k80, {0xffffff9000007947, 0x000fea000383ffff}, "BRA 0xa0", "BRA 0xa0"},
    {"Lanes", Dialect::k80, {0x0000000200007348, 0x000fe80003800000}, "WARPSYNC R2", "WARPSYNC R2"},
    {"ToUniform",
     Dialect::k80,
     {0x00000000000403c2, 0x004ea400000e0000},
     "@P0 R2UR UR4, R0",
     "@P0 R2UR UR4, R0"},
    {"Reduction",
     Dialect::k100,
     {0x00000000040672cc, 0x000fe40000008200},
     "CREDUX.MIN.S32 UR6, R4",
     "REDUX.MIN.S32 UR6, R4"},
    {"Nothing",
     Dialect::k90,
     {0x0000001000000947, 0x000ff60003800000},
     "@P0 BRA 0x1110",
     "@P0 BRA 0x1110"},
};
INSTANTIATE_TEST_SUITE_P(Words, CanonicalTest, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(CanonicalWordTest, WhatADialectDoesNotHaveIsRefused) {
  // VIMNMX, which 9.0 brought, and an atomic on a type without a name.
  EXPECT_FALSE(Canonical({0x0000000003037248, 0x000fc80003fe0100}, Dialect::k80));
  EXPECT_FALSE(Canonical({0x000000000200798e, 0x008fe8000c10efa4}, Dialect::k80));
}

}  // namespace
}  // namespace eidolon::interpret
