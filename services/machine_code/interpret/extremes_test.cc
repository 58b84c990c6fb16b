// The smaller and the larger of numbers of 16 bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>

#include "services/base/small_float.h"
#include "services/machine_code/interpret/run.h"
#include "services/machine_code/interpret/samples_test.h"

namespace eidolon::interpret {
namespace {

constexpr std::uint32_t Pair(std::uint32_t low, std::uint32_t high) { return low | high << 16; }

TEST(ExtremesTest, NumbersOfSixteenBitsAreComparedAPairAtATime) {
  constexpr std::uint32_t kHalfNan = 0x7e01;
  constexpr std::uint32_t kHalfTwo = 0x4000;
  constexpr std::uint32_t kHalfDenormal = 0x0123;
  constexpr std::uint32_t kBfloatNan = 0x7fc1;
  constexpr std::uint32_t kBfloatThree = 0x4040;
  constexpr std::uint32_t kBfloatZero = 0x0000;
  constexpr std::uint32_t kNegative = 0x8000;
  constexpr std::uint32_t kAnyNan = 0x7fff;  // The one that arithmetic produces.
  const Program program = LoadKernel("extremes", ReadCubin("extremes_90.cubin"));
  BufferMemory memory(1);
  memory.At<std::uint32_t>(0) = Pair(kHalfNan, kHalfDenormal);
  memory.At<std::uint32_t>(1) = Pair(kHalfTwo, kNegative);
  memory.At<std::uint32_t>(2) = Pair(kBfloatNan, kBfloatZero);
  memory.At<std::uint32_t>(3) = Pair(kBfloatThree, kBfloatZero | kNegative);
  memory.At<float>(4) = 0x1.000002p127F;  // More than a power of two.
  const std::uint64_t numbers = kBuffer;

  const Outcome outcome =
      interpret::Run(program, {.parameters = std::as_bytes(std::span(&numbers, 1))}, memory, {});

  ASSERT_EQ(outcome.stop, Stop::kNone);
  EXPECT_EQ(memory.At<std::uint32_t>(16), Pair(kHalfTwo, kHalfDenormal));
  EXPECT_EQ(memory.At<std::uint32_t>(17), Pair(kAnyNan, kNegative));
  EXPECT_EQ(memory.At<std::uint32_t>(18), Pair(kHalfTwo, 0));  // The denormal is 0, which is more.
  EXPECT_EQ(memory.At<std::uint32_t>(19), Pair(kBfloatThree, kBfloatZero | kNegative));
  EXPECT_EQ(memory.At<std::uint32_t>(20), Pair(kAnyNan, kBfloatZero));
  EXPECT_EQ(memory.At<std::uint16_t>(42), kBfloatZero);  // Of 0 and -3.
  EXPECT_EQ(memory.At<std::uint32_t>(22),
            Pair(base::DoubleToBfloat(std::tanh(3.0)), kBfloatZero | kNegative));
  EXPECT_EQ(memory.At<std::uint32_t>(23), Pair(0x4400, 0x3c00));  // 4 and 1.
  EXPECT_EQ(memory.At<std::uint16_t>(48), base::DoubleToBfloat(std::tanh(3.140625)));
  EXPECT_EQ(memory.At<std::uint32_t>(25), 1u);  // 3 is less than 3.14.
  EXPECT_EQ(memory.At<std::uint16_t>(52), 0x7f01);
  EXPECT_EQ(memory.At<std::uint16_t>(53), 0x7f00);
}

}  // namespace
}  // namespace eidolon::interpret
