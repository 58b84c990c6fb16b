#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "services/timing/kernel/kernel_name.h"
#include "services/timing/kernel/launch_test.h"
#include "services/timing/kernel/recognise.h"

namespace eidolon::timing::kernel {
namespace {

Demand DemandOfPlaces(const KernelLaunch& launch) {
  return Recognise(launch, ParseKernelName(launch.name));
}

// Pictures of 2 x 3 x 8 x 8 in float32, and 4 x 4 or 16 x 16.
constexpr std::int64_t kPictureChannels = 3, kPictureSide = 8;
constexpr double kPicturePlaces = 2 * 3 * 8 * 8;

TEST(ResampleTest, AveragesOfChannelsLastTakeTwiceTheDivisions) {
  const auto average = [](const std::string& base) {
    LaunchBuilder builder("void at::native::(anonymous namespace)::" + base +
                          "<float, float>(int, float const*, long, long, long, int, int, int, int, "
                          "int, int, int, int, float*, int, bool, bool)");
    builder.Grid(1).Block(1024).Add<std::int32_t>(kPicturePlaces / 4).Pointer();
    builder.Add(kPictureChannels).Add(kPictureSide).Add(kPictureSide);
    for (const std::int32_t number : {4, 4, 2, 2, 2, 2}) builder.Add(number);
    return DemandOfPlaces(builder.Build());
  };
  const Demand first = average("avg_pool2d_out_cuda_frame");
  const Demand last = average("avg_pool2d_out_cuda_frame_nhwc");

  EXPECT_EQ(first.family, Family::kPooling);
  EXPECT_EQ(first.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(first.bytes, 1.25 * kPicturePlaces * 4);
  EXPECT_DOUBLE_EQ(first.elements, kPicturePlaces / 4);
  EXPECT_GT(last.instructions, 2 * first.instructions);
}

TEST(ResampleTest, GradientsOfAveragesHaveAThreadForEachPlaceOfTheImage) {
  LaunchBuilder builder(
      "void at::native::(anonymous namespace)::avg_pool2d_backward_out_cuda_frame<float, float, "
      "int>(int, float const*, long, long, long, long, long, int, int, int, int, int, int, float*, "
      "int, bool, bool)");
  builder.Grid(1).Block(1024).Add<std::int32_t>(kPicturePlaces).Pointer();
  builder.Add(kPictureChannels)
      .Add(kPictureSide)
      .Add(kPictureSide)
      .Add(kPictureSide / 2)
      .Add(kPictureSide / 2);
  const Demand demand = DemandOfPlaces(builder.Build());

  EXPECT_DOUBLE_EQ(demand.elements, kPicturePlaces);
  EXPECT_DOUBLE_EQ(demand.bytes, 1.25 * kPicturePlaces * 4);
}

TEST(ResampleTest, InterpolationWritesFourTimesWhatItReads) {
  LaunchBuilder builder(
      "void at::native::(anonymous namespace)::upsample_bilinear2d_nhwc_out_frame<float, float>("
      "float, float, bool, int, int, int, int, int, float const*, float*, int)");
  builder.Grid(1).Block(1024).Add(0.5f).Add(0.5f).Add(std::int8_t{0});
  for (const std::int32_t number : {3, 8, 8, 16, 16}) builder.Add(number);
  builder.Pointer().Pointer().Add<std::int32_t>(4 * kPicturePlaces);
  const Demand demand = DemandOfPlaces(builder.Build());

  EXPECT_EQ(demand.family, Family::kResample);
  EXPECT_DOUBLE_EQ(demand.elements, 4 * kPicturePlaces);
  EXPECT_DOUBLE_EQ(demand.bytes, 5 * kPicturePlaces * 4);
}

TEST(ResampleTest, SumsOfNarrowGradientsTakeLonger) {
  const auto backward = [](const std::string& type) {
    LaunchBuilder builder(
        "void at::native::(anonymous namespace)::"
        "upsample_bilinear2d_backward_out_frame<" +
        type + ", float>(unsigned long, int, int, int, int, float, float, bool, " + type + "*, " +
        type + " const*)");
    builder.Grid(1).Block(1024).Add<std::int64_t>(6);
    for (const std::int32_t number : {8, 8, 16, 16}) builder.Add(number);
    return DemandOfPlaces(builder.Add(0.5f).Add(0.5f).Add(std::int8_t{0}).Pointers(1).Build());
  };

  EXPECT_DOUBLE_EQ(backward("float").elements, 4 * kPicturePlaces);
  EXPECT_GT(backward("c10::BFloat16").instructions, 2 * backward("float").instructions);
}

TEST(ResampleTest, MomentsOfLongRowsWaitForEveryElement) {
  LaunchBuilder builder(
      "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>(long, float, float "
      "const*, float*, float*)");
  builder.Grid(64).Block(512).Add<std::int64_t>(163840).Add(1e-5f).Pointers(1);
  const Demand demand = DemandOfPlaces(builder.Build());

  EXPECT_DOUBLE_EQ(demand.cold_loads, 320);
  EXPECT_DOUBLE_EQ(demand.bytes, 64 * 163840 * 4.0);
}

// All places of a picture are added to the one that it was made from: an atomic sum for each of
// them, one after the other.
TEST(ResampleTest, GradientsOfEnlargedPicturesMeetInWordsOfTheSmallOne) {
  const auto backward = [](std::int32_t side) {
    LaunchBuilder builder(
        "void at::native::(anonymous namespace)::upsample_bilinear2d_backward_out_frame<float, "
        "float>(unsigned long, int, int, int, int, float, float, bool, float*, float const*)");
    builder.Grid(32768).Block(256).Add<std::int64_t>(2048);
    for (const std::int32_t number : {side, side, 64, 64}) builder.Add(number);
    return DemandOfPlaces(builder.Build());
  };
  const double requests = 2048.0 * 64 * 64 / 32 * 4;

  EXPECT_DOUBLE_EQ(backward(1).atomic_rounds, 32 * requests);
  EXPECT_DOUBLE_EQ(backward(1).atomic_bytes, 2048 * 4);
  EXPECT_DOUBLE_EQ(backward(32).atomic_rounds, 2 * requests);
  EXPECT_DOUBLE_EQ(backward(64).atomic_rounds, requests);
}

}  // namespace
}  // namespace eidolon::timing::kernel
