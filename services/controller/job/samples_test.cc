#include "services/controller/job/samples.h"

#include <gtest/gtest.h>

#include <vector>

namespace eidolon::controller::job {
namespace {

// GEMMs of a linear layer: forward, back, and the gradient of its weights.
void AddLayer(std::uint64_t rows, std::uint64_t inputs, std::uint64_t outputs, TokenWork* work,
              std::uint64_t times = 1) {
  work->gemms.push_back({rows, outputs, inputs, times});
  work->gemms.push_back({rows, inputs, outputs, times});
  work->gemms.push_back({outputs, inputs, rows, times});
}

base::Result<double> DeriveAlone(const TokenWork& work, bool has_convolutions = true) {
  return DeriveSamples({{.first = &work, .iterations = {&work}}}, has_convolutions);
}

TokenWork ResNet(std::uint64_t micro_batches = 1) {
  TokenWork work;
  AddLayer(64, 2048, 1000, &work, micro_batches);
  return work;
}

TokenWork VisionTransformer() {
  TokenWork work;
  AddLayer(32 * 197, 768, 2304, &work, 12);
  AddLayer(32 * 197, 768, 768, &work, 12);
  AddLayer(32 * 197, 768, 3072, &work, 12);
  AddLayer(32 * 197, 3072, 768, &work, 12);
  AddLayer(32, 768, 1000, &work);
  return work;
}

TEST(SamplesTest, TheLastLayerOfAClassifierHasARowForEachImage) {
  EXPECT_EQ(*DeriveAlone(ResNet()), 64);
  EXPECT_EQ(*DeriveAlone(VisionTransformer()), 32);
  TokenWork vgg;
  AddLayer(16, 25088, 4096, &vgg);
  AddLayer(16, 4096, 4096, &vgg);
  AddLayer(16, 4096, 1000, &vgg);
  EXPECT_EQ(*DeriveAlone(vgg), 16);
}

TEST(SamplesTest, MicroBatchesAndRanksAddUp) {
  EXPECT_EQ(*DeriveAlone(ResNet(4)), 256);
  const TokenWork work = ResNet();
  const auto folded =
      DeriveSamples({{.weight = 7, .first = &work}, {.weight = 1, .first = &work}}, true);
  EXPECT_EQ(*folded, 512);
}

TEST(SamplesTest, ForwardPassesAloneDoNotCount) {
  TokenWork work = ResNet();
  work.gemms.push_back({64, 1000, 2048, 10});
  work.gemms.push_back({50, 1000, 2048, 10});
  EXPECT_EQ(*DeriveAlone(work), 64);
}

TEST(SamplesTest, RowsOfSomethingElseAreNoSamples) {
  EXPECT_FALSE(DeriveAlone(ResNet(), false)) << "a model of tables, or of a sequence";
  EXPECT_FALSE(DeriveAlone({}));
  TokenWork detector;  // 100 queries of each image in six layers.
  AddLayer(2 * 850, 256, 2048, &detector, 6);
  AddLayer(2 * 100, 256, 2048, &detector, 6);
  AddLayer(2 * 100, 256, 92, &detector);
  EXPECT_FALSE(DeriveAlone(detector));
  TokenWork speech;  // A row for each place of a sequence in all layers.
  AddLayer(8 * 499, 768, 3072, &speech, 12);
  AddLayer(8 * 499, 768, 32, &speech);
  EXPECT_FALSE(DeriveAlone(speech));
  TokenWork uneven = ResNet();
  AddLayer(100, 512, 128, &uneven);
  EXPECT_FALSE(DeriveAlone(uneven)) << "no multiple of 64 rows";
}

}  // namespace
}  // namespace eidolon::controller::job
