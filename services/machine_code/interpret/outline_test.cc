#include "services/machine_code/interpret/outline.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "services/machine_code/interpret/stores.h"

namespace eidolon::interpret {
namespace {

using sass::Word;

// Instructions of FlashAttention 3 for compute capability 9.0 that are not run.
constexpr Word kWindowWord{0x0000660000047ab9, 0x000fe20000000a00};  // ULDC.64 UR4, c[0x0][0x198]
constexpr Word kFenceWord{0x00000000000073c6, 0x000e660000000000};   // FENCE.VIEW.ASYNC.S
constexpr Word kAskBarrierWord{0x028c500fff0075a7, 0x000e620008000150};  // SYNCS.PHASECHK ... P0
constexpr Word kArriveWord{0x000000ffffff79a7, 0x000fe20008100408};      // SYNCS.ARRIVE ... RZ
constexpr Word kSetBarrierWord{0x028c0004083f85b2, 0x0002ac0008000100};  // @!UP0 SYNCS.EXCH.64 URZ
constexpr Word kCopiesArriveWord{0x028c3000ff00c9b0, 0x000fee0008000a84};  // ARRIVES.LDGSTSBAR.64
constexpr Word kLoadTensorWord{0x00000408060075b4, 0x0003e40008019000};  // UTMALDG.4D [UR8], [UR6]
constexpr Word kPrefetchWord{0x000000000a0019b9, 0x0003e20008040000};    // @UP1 UTMACCTL.PF [UR10]
constexpr Word kGroupWord{0x00008000000079c5, 0x000fe40000010000};       // WARPGROUP.DEPBAR.LE
constexpr Word kRegistersWord{0x000000e8000079c8, 0x000e640008000600};   // USETMAXREG.TRY_ALLOC UP0
constexpr Word kAddWord{0x000000020e167897, 0x000fe2000fffe03f};      // UIADD3.64 UR22, UR14, 0x2
constexpr Word kBranchOfAny{0xfffffffd00e81947, 0x000fea000393ffff};  // @P1 BRA.U.ANY
// HGMMA.64x64x16.F32 R24, gdesc[UR8]: 32 registers.
constexpr Word kMultiplyWord{0x00e00000081879f0, 0x000fe2000c7008ff};
constexpr Word kEndWord{0x000000000000794d, 0x000fea0003800000};

// LDC.64 R2, c[0x0][`place`]
constexpr Word LoadPairWord(unsigned target, unsigned place) {
  Word word{0x00028a00ff027b82, 0x000ea20000000a00};
  word.Set(16, 8, target);
  word.Set(38, 16, place);
  return word;
}
// STG.E desc[UR24][R`address`.64], R9
constexpr Word StoreThrough(unsigned address) {
  Word word{0x000000090c007986, 0x0001e4000c101918};
  word.Set(24, 8, address);
  return word;
}
// MOV R`target`, R`source`
constexpr Word MoveWord(unsigned target, unsigned source) {
  Word word{0x000000ff00317202, 0x000fe40000000f00};
  word.Set(16, 8, target);
  word.Set(32, 8, source);
  return word;
}

base::Result<void> FollowCode(const std::vector<Word>& code, Program& program) {
  return TranslateToFollow(std::as_bytes(std::span(code)), program);
}

std::vector<StoreSite> StoresOfCode(const std::vector<Word>& code) {
  Program program;
  const auto done = FollowCode(code, program);
  EXPECT_TRUE(done) << done.error().message;
  return FindStores(program, std::vector<std::uint32_t>{0, 8});
}

// Registers 2 and 3 hold the first pointer, 4 and 5 the second one.
constexpr unsigned kOnePointer = 2, kOtherPointer = 4;
constexpr Word kLoadOne = LoadPairWord(kOnePointer, 0x210),
               kLoadOther = LoadPairWord(kOtherPointer, 0x218);

TEST(OutlineTest, AKernelThatCannotBeRunStoresThroughOnePointerOnly) {
  const std::vector<Word> code = {kWindowWord,     kPrefetchWord,     kSetBarrierWord,
                                  kLoadOne,        kLoadOther,        kRegistersWord,
                                  kLoadTensorWord, kFenceWord,        kArriveWord,
                                  kAskBarrierWord, kCopiesArriveWord, kGroupWord,
                                  kAddWord,        kMultiplyWord,     StoreThrough(kOtherPointer),
                                  kEndWord};
  Program program;
  EXPECT_FALSE(Translate(std::as_bytes(std::span(code)), program));

  const std::vector<StoreSite> sites = StoresOfCode(code);

  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].pointers, 2u);
  EXPECT_FALSE(sites[0].escapes || sites[0].no_pointer || sites[0].moves);
}

TEST(OutlineTest, ResultsOfMatrixInstructionsAreNoAddresses) {
  // R24 to R55 are written; R56 is not.
  const std::vector<Word> code = {kLoadOne,
                                  MoveWord(54, kOnePointer),
                                  MoveWord(55, kOnePointer + 1),
                                  MoveWord(56, kOnePointer),
                                  MoveWord(57, kOnePointer + 1),
                                  kMultiplyWord,
                                  StoreThrough(54),
                                  StoreThrough(56),
                                  kEndWord};

  const std::vector<StoreSite> sites = StoresOfCode(code);

  ASSERT_EQ(sites.size(), 2u);
  EXPECT_TRUE(sites[0].escapes);
  EXPECT_EQ(sites[0].pointers, 1u);  // The guard of an asynchronous write may not hold.
  EXPECT_FALSE(sites[1].escapes);
  EXPECT_EQ(sites[1].pointers, 1u);
}

TEST(OutlineTest, WhatABarrierSaysDecidesByValues) {
  Word guarded = StoreThrough(kOnePointer);
  guarded.Set(12, 4, 0);  // @P0

  const std::vector<StoreSite> before = StoresOfCode({kLoadOne, guarded, kEndWord});
  const std::vector<StoreSite> behind =
      StoresOfCode({kLoadOne, kAskBarrierWord, guarded, kEndWord});

  ASSERT_EQ(before.size(), 1u);
  ASSERT_EQ(behind.size(), 1u);
  EXPECT_FALSE(before[0].depends);
  EXPECT_TRUE(behind[0].depends);
}

TEST(OutlineTest, WhatIsLoadedIntoSharedMemoryIsNoPointer) {
  // LDS R2, [R5+0x28480], and the upper half of the address.
  Word low{0x0284800005057984, 0x000e620000000800};
  low.Set(16, 8, kOnePointer);
  Word high = low;
  high.Set(16, 8, kOnePointer + 1);

  const std::vector<StoreSite> without =
      StoresOfCode({low, high, StoreThrough(kOnePointer), kEndWord});
  const std::vector<StoreSite> with =
      StoresOfCode({kLoadTensorWord, low, high, StoreThrough(kOnePointer), kEndWord});

  ASSERT_EQ(without.size(), 1u);
  ASSERT_EQ(with.size(), 1u);
  EXPECT_FALSE(without[0].escapes);
  EXPECT_TRUE(with[0].escapes);
}

TEST(OutlineTest, ABranchOfAnyLaneLeadsBothWays) {
  Word skip = kBranchOfAny;  // Past one instruction: the distance in words is 16 / 4.
  skip.Set(34, 48, 0);
  skip.Set(16, 8, 4);

  const std::vector<StoreSite> sites =
      StoresOfCode({kLoadOne, kLoadOther, skip, StoreThrough(kOnePointer),
                    StoreThrough(kOtherPointer), kEndWord});

  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(sites[0].pointers, 1u);
  EXPECT_EQ(sites[1].pointers, 2u);
}

TEST(OutlineTest, InstructionsWithOtherEffectsAreRefused) {
  Word into_register = kArriveWord;
  into_register.Set(16, 8, 4);
  Word old_content = kSetBarrierWord;
  old_content.Set(16, 8, 4);
  Word stores_tensor = kLoadTensorWord;
  stores_tensor.Set(0, 12, 0x3b5);
  Word far = kBranchOfAny;  // Before the kernel.
  for (const Word& word : {into_register, old_content, stores_tensor, far}) {
    Program program;
    EXPECT_FALSE(FollowCode({word, kEndWord}, program));
  }
}

TEST(OutlineTest, OtherArchitecturesAreRefused) {
  for (const sass::Dialect dialect : {sass::Dialect::k80, sass::Dialect::k100}) {
    Program program;
    program.dialect = dialect;
    EXPECT_FALSE(FollowCode({kFenceWord, kEndWord}, program));
  }
}

}  // namespace
}  // namespace eidolon::interpret
