#include "services/machine_code/interpret/lenient.h"

#include <gtest/gtest.h>

#include <array>
#include <span>

#include "services/machine_code/interpret/run.h"
#include "services/machine_code/interpret/samples_test.h"

namespace eidolon::interpret {
namespace {

constexpr sass::Word kNop{0x0000000000007918, 0x000fd00000000000};
constexpr sass::Word kExit{0x000000000000794d, 0x000fea0003800000};
// Two steps back, as long as UP0 does not hold.
constexpr sass::Word kAgain{0xfffffffd08f47547, 0x002fea000b83ffff};
// USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xc0
constexpr sass::Word kTakesRegisters{0x000000c0000079c8, 0x000e640008000600};
// UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR4, UR6
constexpr sass::Word kTakesColumns{0x00000006000475e3, 0x000e640008000800};

Stop RunUntilItHolds(const sass::Word& asks) {
  const std::array code = {kNop, asks, kAgain, kExit};
  Program program;
  program.dialect = sass::Dialect::k100;
  EXPECT_EQ(TranslateLeniently(std::as_bytes(std::span(code)), program), asks == kNop ? 0u : 1u);
  BufferMemory memory(1);
  return interpret::Run(program, {.block = {32, 1, 1}}, memory, {.warp_steps = 100}).stop;
}

TEST(LenientTest, WhatAWarpAsksForIsFree) {
  EXPECT_EQ(RunUntilItHolds(kTakesRegisters), Stop::kNone);
  EXPECT_EQ(RunUntilItHolds(kTakesColumns), Stop::kNone);
  EXPECT_EQ(RunUntilItHolds(kNop), Stop::kLimit);
}

TEST(LenientTest, SystemWordsOfSharedMemoryAreReachedOnlyWhereThatIsAskedFor) {
  // STS [UR5+0x18], R4, as the address of tensor memory is noted; UR5 is zero here.
  constexpr sass::Word kNotes{0x00001804ff007988, 0x000fe20008000805};
  const std::array code = {kNotes, kExit};
  Program program;
  program.dialect = sass::Dialect::k100;
  ASSERT_EQ(TranslateLeniently(std::as_bytes(std::span(code)), program), 0u);
  BufferMemory memory(1);
  Launch launch{.block = {32, 1, 1}, .dynamic_shared_bytes = 64};

  EXPECT_EQ(interpret::Run(program, launch, memory, {}).stop, Stop::kFault);
  launch.reaches_system_words = true;
  EXPECT_EQ(interpret::Run(program, launch, memory, {}).stop, Stop::kNone);
}

}  // namespace
}  // namespace eidolon::interpret
