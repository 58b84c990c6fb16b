#include "shim/value/compute/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

class BatchNormTest : public testing::Test {
 protected:
  enum Place {
    kX,
    kY,
    kScale,
    kBias,
    kMean,
    kVariance,
    kSavedMean,
    kSavedDeviation,
    kDy,
    kDx,
    kDs,
    kDb
  };
  static constexpr std::uint64_t At(Place place) {
    return 0x6b0300000000 + static_cast<std::uint64_t>(place) * 0x10000;
  }

  BatchNormTest() {
    value::ProcessStore().MakeStale(0, ~std::uint64_t{0});
    Put(kX, {1, 2, 3, 4, 5, 7, -1, 0});  // Two of a batch, two channels, two positions.
    Put(kScale, {2, 1});
    Put(kBias, {0.5, -1});
    Put(kMean, {0, 10});
    Put(kVariance, {1, 1});
  }

  static void Put(Place place, const std::vector<float>& numbers) {
    value::ProcessPending().Write(At(place), numbers.data(), numbers.size() * sizeof(float));
  }
  // Zeros where a number is unknown.
  static std::vector<float> Get(Place place, std::size_t count) {
    std::vector<float> numbers(count);
    if (!value::ProcessPending().IsKnown(At(place), count * sizeof(float))) return numbers;
    value::ProcessStore().Read(At(place), numbers.data(), count * sizeof(float));
    return numbers;
  }
  static void ExpectNear(const std::vector<float>& got, const std::vector<double>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5) << i;
  }

  BatchNorm norm_{.type = Element::kFloat,
                  .parameters = Element::kFloat,
                  .dims = {2, 2, 2, 1, 1},
                  .epsilon = 0.5,
                  .momentum = 0.1,
                  .input = {At(kX), {4, 2, 1, 1, 1}},
                  .output = {At(kY), {4, 2, 1, 1, 1}},
                  .scale = At(kScale),
                  .bias = At(kBias),
                  .running_mean = At(kMean),
                  .running_variance = At(kVariance),
                  .saved_mean = At(kSavedMean),
                  .saved_deviation = At(kSavedDeviation)};
  // Means of the channels 1, 2, 5, 7 and 3, 4, -1, 0.
  const double mean_[2] = {3.75, 1.5};
  const double variance_[2] = {5.6875, 4.25};
};

TEST_F(BatchNormTest, TrainingNormalisesAndMovesRunningStatistics) {
  Record(norm_);

  const double first = 1 / std::sqrt(variance_[0] + 0.5);
  const double second = 1 / std::sqrt(variance_[1] + 0.5);
  ExpectNear(Get(kY, 8), {2 * first * (1 - 3.75) + 0.5, 2 * first * (2 - 3.75) + 0.5,
                          second * 1.5 - 1, second * 2.5 - 1, 2 * first * (5 - 3.75) + 0.5,
                          2 * first * (7 - 3.75) + 0.5, second * -2.5 - 1, second * -1.5 - 1});
  ExpectNear(Get(kSavedMean, 2), {mean_[0], mean_[1]});
  ExpectNear(Get(kSavedDeviation, 2), {first, second});
  ExpectNear(Get(kMean, 2), {0.375, 9.15});
  ExpectNear(Get(kVariance, 2),
             {0.9 + 0.1 * variance_[0] * 4 / 3, 0.9 + 0.1 * variance_[1] * 4 / 3});
}

TEST_F(BatchNormTest, InferenceUsesRunningStatistics) {
  norm_.pass = BatchNormPass::kInference;
  Record(norm_);

  const double deviation = 1 / std::sqrt(1.5);
  ExpectNear(Get(kY, 4),
             {2 * deviation + 0.5, 4 * deviation + 0.5, -7 * deviation - 1, -6 * deviation - 1});
}

// The test compares with differences of the loss: the sum of outputs, each times its gradient.
TEST_F(BatchNormTest, GradientsAreThoseOfTheLoss) {
  const std::vector<float> gradient = {1, -2, 0.5, 3, 2, 1, -1, 0.25};
  const auto loss = [&](Place place, std::size_t at, float step) {
    std::vector<float> numbers = Get(place, place == kX ? 8 : 2);
    const std::vector<float> before = numbers;
    numbers[at] += step;
    Put(place, numbers);
    Record(norm_);
    const std::vector<float> y = Get(kY, 8);
    Put(place, before);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(y[i] * gradient[i]);
    return sum;
  };
  const auto slopes = [&](Place place, std::size_t count) {
    std::vector<double> result(count);
    for (std::size_t i = 0; i < count; ++i) {
      result[i] = (loss(place, i, 0.01F) - loss(place, i, -0.01F)) / 0.02;
    }
    return result;
  };
  const auto of_x = slopes(kX, 8), of_scale = slopes(kScale, 2), of_bias = slopes(kBias, 2);
  Record(norm_);  // Saves the statistics.
  Put(kDy, gradient);

  BatchNorm back = norm_;
  back.pass = BatchNormPass::kBackward;
  back.gradient = {At(kDy), norm_.input.strides};
  back.output = {At(kDx), norm_.input.strides};
  back.scale_gradient = At(kDs);
  back.bias_gradient = At(kDb);
  Record(back);

  const auto close = [](const std::vector<float>& got, const std::vector<double>& wanted) {
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 2e-3) << i;
  };
  close(Get(kDx, 8), of_x);
  close(Get(kDs, 2), of_scale);
  close(Get(kDb, 2), of_bias);
}

TEST_F(BatchNormTest, ResultsOfAnUnknownInputAreUnknown) {
  Put(kY, std::vector<float>(8, 1));
  value::ProcessPending().Forget(At(kX), 4);
  Record(norm_);

  EXPECT_FALSE(value::ProcessPending().IsKnown(At(kY), 4));
  EXPECT_FALSE(value::ProcessPending().IsKnown(At(kMean), 4));
}

TEST_F(BatchNormTest, OnlyRealNumbersInSmallVolumesAreComputed) {
  EXPECT_TRUE(IsSmall(norm_));
  BatchNorm large = norm_;
  large.dims = {64, 64, 64, 64, 1};
  EXPECT_FALSE(IsSmall(large));
  BatchNorm whole = norm_;
  whole.type = Element::kInt8;
  EXPECT_FALSE(IsSmall(whole));
}

}  // namespace
}  // namespace eidolon::shim::compute
