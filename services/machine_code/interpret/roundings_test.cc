// Conversions and fused sums that are rounded once, to nearest even.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>

#include "services/base/small_float.h"
#include "services/machine_code/interpret/run.h"
#include "services/machine_code/interpret/samples_test.h"

namespace eidolon::interpret {
namespace {

constexpr std::uint32_t HalvesOf(std::uint32_t low, std::uint32_t high) { return low | high << 16; }

// The kernel of services/machine_code/cubin/testdata/rounding.ptx.
class RoundingsTest : public testing::Test {
 protected:
  void Run() {
    const std::uint64_t numbers = kBuffer;
    const Outcome outcome = interpret::Run(
        program_, {.parameters = std::as_bytes(std::span(&numbers, 1))}, memory_, {});
    ASSERT_EQ(outcome.stop, Stop::kNone);
  }

  const Program program_ = LoadKernel("rounding", ReadCubin("rounding_90.cubin"));
  BufferMemory memory_{1};
};

TEST_F(RoundingsTest, AnIntegerOf64BitsIsRoundedOnceToBfloat16) {
  constexpr std::uint64_t kTie = (std::uint64_t{1} << 60) + (std::uint64_t{1} << 52);
  memory_.At<std::uint64_t>(0) = kTie + 1;
  memory_.At<std::uint64_t>(1) = 0 - (kTie + 1);

  Run();

  EXPECT_EQ(memory_.At<std::uint16_t>(32), base::DoubleToBfloat(0x1.02p60));
  EXPECT_EQ(memory_.At<std::uint16_t>(33), base::DoubleToBfloat(-0x1.02p60));
  EXPECT_EQ(memory_.At<std::uint16_t>(34), base::DoubleToBfloat(0x1p60));  // Toward zero.

  memory_.At<std::uint64_t>(0) = kTie;
  memory_.At<std::uint64_t>(1) = 0 - (kTie - 1);

  Run();

  EXPECT_EQ(memory_.At<std::uint16_t>(32), base::DoubleToBfloat(0x1p60));  // Even.
  EXPECT_EQ(memory_.At<std::uint16_t>(33), base::DoubleToBfloat(-0x1p60));
}

TEST_F(RoundingsTest, AFusedSumOfBfloat16IsRoundedOnce) {
  // 1.5 x 1.0078125 = 1.51171875 lies between two numbers; -3 x 1.0078125 likewise.
  const std::uint32_t a = HalvesOf(base::DoubleToBfloat(1.5), base::DoubleToBfloat(-3));
  const std::uint32_t b = HalvesOf(base::DoubleToBfloat(0x1.02p0), base::DoubleToBfloat(0x1.02p0));
  const std::uint16_t tiny = base::DoubleToBfloat(0x1p-100);
  const std::uint16_t minus_tiny = base::DoubleToBfloat(-0x1p-100);
  memory_.At<std::uint32_t>(4) = a;
  memory_.At<std::uint32_t>(5) = b;
  memory_.At<std::uint32_t>(6) = HalvesOf(tiny, tiny);
  memory_.At<std::uint32_t>(7) = HalvesOf(minus_tiny, minus_tiny);

  Run();

  const std::uint16_t below = base::DoubleToBfloat(0x1.82p0);
  const std::uint16_t above = base::DoubleToBfloat(0x1.84p0);
  const std::uint16_t minus_below = base::DoubleToBfloat(-0x1.82p1);
  const std::uint16_t minus_above = base::DoubleToBfloat(-0x1.84p1);
  EXPECT_EQ(memory_.At<std::uint32_t>(18), HalvesOf(above, minus_below));
  EXPECT_EQ(memory_.At<std::uint32_t>(19), HalvesOf(below, minus_above));

  // Infinities and NaNs stay what they are.
  const std::uint16_t infinity = 0x7f80;
  memory_.At<std::uint32_t>(6) = HalvesOf(infinity, 0x8000 | infinity);
  memory_.At<std::uint32_t>(7) = HalvesOf(0x7fc1, 0);

  Run();

  EXPECT_EQ(memory_.At<std::uint32_t>(18), HalvesOf(infinity, 0x8000 | infinity));
  EXPECT_EQ(memory_.At<std::uint32_t>(19), HalvesOf(0x7fff, minus_above));  // A tie, to even.
}

}  // namespace
}  // namespace eidolon::interpret
