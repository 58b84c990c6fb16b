#include "shim/value/compute/tracked_launch.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shim/gpu/module/sample.h"
#include "shim/value/compute/launch.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kIn = 0x6b4100000000;
constexpr std::uint64_t kOut = kIn + (2 << 20);

constexpr Arena kTrackedArena{
    .holds = [](std::uint64_t a) { return a - kIn < (std::uint64_t{1} << 32); },
    .find_buffer = [](std::uint64_t a) -> std::optional<Arena::Range> {
      const std::uint64_t begin = a >> 20 << 20;
      return Arena::Range(begin, begin + (1 << 20));
    },
    .version = [] { return std::uint64_t{1}; }};

class TrackedLaunchTest : public testing::Test {
 protected:
  TrackedLaunchTest() { value::ProcessStore().MakeStale(0, ~std::uint64_t{0}); }

  // One block of 32 threads, as the same work each time.
  static void Launch(const std::string& image, std::string_view kernel, std::uint32_t work,
                     std::span<const std::byte> block) {
    Record({.image = image.data(), .name = kernel, .device = {9, 0}},
           {.grid = {1, 1, 1}, .block = {32, 1, 1}}, work,
           {.block = block, .pointers = LaunchPointers(block, kTrackedArena).list}, kTrackedArena);
  }
  // Multiplies the first 32 numbers at kOut.
  static void Scale(float factor) {
    static auto* const image = new std::string(gpu::ReadSample("zstandard.fatbin"));
    const struct {
      std::uint64_t out;
      float factor;
      std::uint32_t count;
    } parameters{kOut, factor, 32};
    Launch(*image, "scale", 70000, std::as_bytes(std::span(&parameters, 1)));
  }
  static void Write(std::uint64_t address, float value, int count) {
    const std::vector<float> values(count, value);
    value::ProcessPending().Write(address, values.data(), 4 * values.size());
  }
  static bool IsKnown(std::uint64_t address, std::size_t bytes) {
    return value::ProcessPending().IsKnown(address, bytes);
  }
  static float Read(std::uint64_t address) {
    float value = 0;
    value::ProcessPending().Read(address, &value, 4, 0, nullptr);
    return value;
  }
};

TEST_F(TrackedLaunchTest, MultiplesOfKnownNumbersAreKnownBesideOthers) {
  for (const float factor :
       {3.0f, 4.0f, 5.0f}) {  // Launches after the first expect the unknown one.
    Write(kOut, 6.0f, 32);
    value::ProcessPending().Forget(kOut + 20, 4);
    Scale(factor);

    EXPECT_TRUE(IsKnown(kOut, 20));
    EXPECT_FALSE(IsKnown(kOut + 20, 1));
    EXPECT_TRUE(IsKnown(kOut + 24, 104));
    EXPECT_EQ(Read(kOut), 6 * factor);
    EXPECT_EQ(Read(kOut + 124), 6 * factor);
  }
}

TEST_F(TrackedLaunchTest, TheKernelIsNamedForWhatItLeavesUnknown) {
  Write(kOut, 6.0f, 32);
  value::ProcessPending().Forget(kOut + 64, 4);
  Scale(2);

  EXPECT_TRUE(IsKnown(kOut, 64));
  const value::AuthorTable& authors = value::ProcessStore().authors();
  EXPECT_EQ(value::TitleOf(authors.Find(kOut).author), "scale");
  EXPECT_EQ(value::TitleOf(authors.Find(kOut + 64).author), "scale");
}

TEST_F(TrackedLaunchTest, AWayThatNobodyKnowsMakesAllResultsUnknown) {
  Write(kOut, 1.0f, 32);
  const std::array<std::uint64_t, 2> pointers = {kIn, kOut};
  static const std::string image(gpu::ReadSample("stores.cubin"));
  Launch(image, "rounds", 70001, std::as_bytes(std::span(pointers)));

  EXPECT_FALSE(IsKnown(kOut, 4));
}

TEST_F(TrackedLaunchTest, AKernelThatLeavesNothingKnownIsGivenUp) {
  KernelExperience kernel;
  ShapeExperience shape;
  const std::array words = {kIn};
  const LaunchPointers pointers(std::as_bytes(std::span(words)), kTrackedArena);
  const value::Store& store = value::ProcessStore();
  EXPECT_FALSE(IsWorthTracking(kernel, shape, 32, pointers, store)) << "nothing is known";
  Write(kIn, 1.0f, 32);
  EXPECT_TRUE(IsWorthTracking(kernel, shape, 32, pointers, store));
  EXPECT_FALSE(IsWorthTracking(kernel, shape, 1 << 20, pointers, store));

  NoteTracked(false, kernel, shape);
  NoteTracked(true, kernel, shape);
  EXPECT_TRUE(shape.yields_in_part);
  NoteTracked(false, kernel, shape);
  EXPECT_TRUE(IsWorthTracking(kernel, shape, 32, pointers, store));
  NoteTracked(false, kernel, shape);
  EXPECT_FALSE(IsWorthTracking(kernel, shape, 32, pointers, store));
  ShapeExperience other;
  EXPECT_TRUE(IsWorthTracking(kernel, other, 32, pointers, store));
}

}  // namespace
}  // namespace eidolon::shim::compute
