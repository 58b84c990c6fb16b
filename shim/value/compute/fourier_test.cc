#include "shim/value/compute/fourier.h"

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

using Complex = std::complex<float>;

constexpr std::uint64_t kIn = 0x6b0200000000;
constexpr std::uint64_t kOut = kIn + 65536;

class FourierTest : public testing::Test {
 protected:
  FourierTest() { value::ProcessPending().Forget(kIn, 131072); }

  template <typename T>
  static void Put(std::uint64_t address, const std::vector<T>& numbers) {
    value::ProcessPending().Write(address, numbers.data(), numbers.size() * sizeof(T));
  }
  template <typename T>
  static std::vector<T> Get(std::uint64_t address, std::size_t count) {
    std::vector<T> numbers(count);
    value::ProcessPending().Read(address, numbers.data(), count * sizeof(T), 0, nullptr);
    return numbers;
  }
  // Out of place, points side by side.
  static Fourier Plain(std::array<std::int64_t, 3> lengths, std::int64_t batch, bool from_real,
                       bool to_real) {
    Fourier fourier{.lengths = lengths,
                    .batch = batch,
                    .inverse = to_real,
                    .from_real = from_real,
                    .to_real = to_real};
    const auto side = [&](std::uint64_t address, bool real, std::int64_t width) {
      return FourierSide{.address = address,
                         .type = real ? Element::kFloat : Element::kComplexFloat,
                         .embed = {lengths[0], lengths[1], width},
                         .distance = lengths[0] * lengths[1] * width};
    };
    fourier.input = side(kIn, from_real, fourier.InputWidth());
    fourier.output = side(kOut, to_real, fourier.OutputWidth());
    return fourier;
  }
  static void ExpectNear(const std::vector<Complex>& one, const std::vector<Complex>& other) {
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t at = 0; at < one.size(); ++at) {
      EXPECT_NEAR(std::abs(one[at] - other[at]), 0, 1e-5) << at;
    }
  }
};

TEST_F(FourierTest, AWaveIsOnePointOfItsSpectrum) {
  std::vector<Complex> wave(12);
  for (std::size_t at = 0; at < wave.size(); ++at) {
    wave[at] = std::polar(1.0F, 2 * std::numbers::pi_v<float> * 5 * static_cast<float>(at) / 12);
  }
  Put(kIn, wave);
  Record(Plain({1, 1, 12}, 1, false, false));

  std::vector<Complex> expected(12);
  expected[5] = 12;
  ExpectNear(Get<Complex>(kOut, 12), expected);
}

TEST_F(FourierTest, ThereAndBackIsTheSameTimesTheNumberOfPoints) {
  std::vector<Complex> points(2 * 3 * 4 * 5);
  for (std::size_t at = 0; at < points.size(); ++at) {
    points[at] = {static_cast<float>(at % 7), static_cast<float>(at % 5)};
  }
  Put(kIn, points);
  Record(Plain({3, 4, 5}, 2, false, false));
  Fourier back = Plain({3, 4, 5}, 2, false, false);
  back.inverse = true;
  std::swap(back.input, back.output);
  Record(back);

  std::vector<Complex> result = Get<Complex>(kIn, points.size());
  for (Complex& number : result) number /= 60.0F;
  ExpectNear(result, points);
}

TEST_F(FourierTest, ARealTransformIsHalfOfTheComplexOne) {
  for (const std::int64_t last : {4, 5}) {
    const auto count = static_cast<std::size_t>(3 * last);
    std::vector<float> real(count);
    for (std::size_t at = 0; at < count; ++at) real[at] = static_cast<float>((at * at) % 11);
    Put(kIn, std::vector<Complex>(real.begin(), real.end()));
    Record(Plain({1, 3, last}, 1, false, false));
    const std::vector<Complex> whole = Get<Complex>(kOut, count);

    Put(kIn, real);
    Record(Plain({1, 3, last}, 1, true, false));
    const std::size_t width = static_cast<std::size_t>(last) / 2 + 1;
    const std::vector<Complex> half = Get<Complex>(kOut, 3 * width);
    for (std::size_t at = 0; at < half.size(); ++at) {
      const Complex other = whole[at / width * static_cast<std::size_t>(last) + at % width];
      EXPECT_NEAR(std::abs(half[at] - other), 0, 1e-4);
    }

    Put(kIn, half);
    Record(Plain({1, 3, last}, 1, false, true));
    const std::vector<float> back = Get<float>(kOut, count);
    for (std::size_t at = 0; at < count; ++at) {
      EXPECT_NEAR(back[at], real[at] * static_cast<float>(count), 1e-3);
    }
  }
}

TEST_F(FourierTest, PointsLieWhereTheLayoutSays) {
  // Every third number of a row, rows of seven points, of which four are transformed.
  std::vector<Complex> spread(64, Complex(100, 100));
  for (std::size_t at = 0; at < 4; ++at) spread[at * 3] = {1, 0};
  Put(kIn, spread);
  Put(kOut, std::vector<Complex>(64, Complex(7, 7)));
  Fourier fourier = Plain({1, 1, 4}, 1, false, false);
  fourier.input.stride = 3;
  fourier.input.embed[2] = 7;
  fourier.output.stride = 2;

  EXPECT_EQ(WrittenElements(fourier), 7u);
  Record(fourier);

  const std::vector<Complex> out = Get<Complex>(kOut, 8);
  ExpectNear(out, {{4, 0}, {7, 7}, {0, 0}, {7, 7}, {0, 0}, {7, 7}, {0, 0}, {7, 7}});
}

TEST_F(FourierTest, AnUnknownPointMakesItsTransformUnknownAndNoOther) {
  Put(kIn, std::vector<Complex>(8, Complex(1, 0)));
  Put(kOut, std::vector<Complex>(8));
  value::ProcessPending().Forget(kIn + 5 * sizeof(Complex), 1);
  Record(Plain({1, 1, 4}, 2, false, false));

  EXPECT_TRUE(value::ProcessPending().IsKnown(kOut, 4 * sizeof(Complex)));
  EXPECT_FALSE(value::ProcessPending().IsKnown(kOut + 4 * sizeof(Complex), 1));
  EXPECT_EQ(Get<Complex>(kOut, 1)[0], Complex(4, 0));
}

TEST_F(FourierTest, LargeOnesAreNotDone) {
  EXPECT_TRUE(IsSmall(Plain({1, 64, 64}, 1, false, false)));
  EXPECT_FALSE(IsSmall(Plain({1, 1024, 1024}, 1, false, false)));
  EXPECT_FALSE(IsSmall(Plain({1, 1, 16}, 1 << 20, false, false)));
  Fourier half = Plain({1, 1, 16}, 1, false, false);
  half.input.type = Element::kNone;
  EXPECT_FALSE(IsSmall(half));
}

}  // namespace
}  // namespace eidolon::shim::compute
