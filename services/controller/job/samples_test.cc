#include "services/controller/job/samples.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace eidolon::controller::job {
namespace {

const RunKernels kImages = {.families = {"convolution", "gemm", "elementwise"}};
const RunKernels kNumbers = {.families = {"gemm", "elementwise", "reduction", "loss", "index"}};

void AddGemm(std::uint64_t rows, std::uint64_t outputs, std::uint64_t inputs, std::uint64_t times,
             TokenWork* work) {
  work->gemms.push_back({rows, outputs, inputs, times});
  work->matrix_flops += 2 * rows * outputs * inputs * times;
}

// GEMMs of a linear layer: forward, back, and the gradient of its weights.
void AddLayer(std::uint64_t rows, std::uint64_t inputs, std::uint64_t outputs, TokenWork* work,
              std::uint64_t times = 1) {
  AddGemm(rows, outputs, inputs, times, work);
  AddGemm(rows, inputs, outputs, times, work);
  AddGemm(outputs, inputs, rows, times, work);
}

base::Result<double> DeriveAlone(const TokenWork& work, const RunKernels& kernels = kImages) {
  return DeriveSamples({{.first = &work, .iterations = {&work}}}, kernels);
}

TokenWork ResNet(std::uint64_t micro_batches = 1) {
  TokenWork work;
  AddLayer(64, 2048, 1000, &work, micro_batches);
  return work;
}

TokenWork VisionTransformer(std::uint64_t micro_batches = 1) {
  TokenWork work;
  AddLayer(32 * 197, 768, 2304, &work, 12 * micro_batches);
  AddLayer(32 * 197, 768, 768, &work, 12 * micro_batches);
  AddLayer(32 * 197, 768, 3072, &work, 12 * micro_batches);
  AddLayer(32 * 197, 3072, 768, &work, 12 * micro_batches);
  AddLayer(32, 768, 1000, &work, micro_batches);
  return work;
}

// Layers of 4 x 64, whose input has no gradient, 64 x 64 and 64 x 2.
TokenWork Perceptron(std::uint64_t rows) {
  TokenWork work;
  AddGemm(rows, 64, 4, 1, &work);
  AddGemm(64, 4, rows, 1, &work);
  AddLayer(rows, 64, 64, &work);
  AddLayer(rows, 64, 2, &work);
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
  EXPECT_EQ(*DeriveAlone(VisionTransformer(3)), 96);
  const TokenWork work = ResNet();
  const auto folded =
      DeriveSamples({{.weight = 7, .first = &work}, {.weight = 1, .first = &work}}, kImages);
  EXPECT_EQ(*folded, 512);
}

TEST(SamplesTest, ForwardPassesAloneDoNotCount) {
  TokenWork work = ResNet();
  work.gemms.push_back({64, 1000, 2048, 10});
  work.gemms.push_back({50, 1000, 2048, 10});
  EXPECT_EQ(*DeriveAlone(work), 64);
}

TEST(SamplesTest, RowsOfSomethingElseAreNoSamples) {
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

TEST(SamplesTest, StepsOfARecurrentLayerAreNoMicroBatches) {
  TokenWork work;  // Behind a convolution: 8 sequences of 100 places.
  AddLayer(8, 256, 1024, &work, 400);
  AddLayer(8 * 100, 512, 29, &work);
  EXPECT_FALSE(DeriveAlone(work));
}

TEST(SamplesTest, WhereOnlyLinearLayersRunTheirRowsAreSamples) {
  EXPECT_EQ(*DeriveAlone(Perceptron(1024), kNumbers), 1024);
}

TEST(SamplesTest, EachSampleMayBeFetchedFromWhereAllAreKept) {
  TokenWork work = Perceptron(1024);
  work.lookups = {{.indices = 1024, .table_rows = 4096, .row_bytes = 16}};
  EXPECT_EQ(*DeriveAlone(work, kNumbers), 1024);
  work.lookups.front().indices = 4096;
  EXPECT_FALSE(DeriveAlone(work, kNumbers)) << "neighbours in a graph, or words";
}

TEST(SamplesTest, EqualLayersAloneCouldBeMicroBatches) {
  TokenWork work;
  AddLayer(512, 2048, 2048, &work, 8);
  EXPECT_FALSE(DeriveAlone(work, kNumbers));
}

TEST(SamplesTest, RowsThatSomethingMayMixAreNoSamples) {
  for (const char* family : {"unknown", "triton", "library", "scan", "sparse", "fixed",
                             "attention_forward", "attention_backward", "pooling"}) {
    RunKernels kernels = kNumbers;
    kernels.families.insert(family);
    EXPECT_FALSE(DeriveAlone(Perceptron(64), kernels)) << family;
  }
  RunKernels attention = kNumbers;  // Of GEMMs.
  attention.has_batched_gemms = true;
  EXPECT_FALSE(DeriveAlone(Perceptron(64), attention));
  TokenWork grouped = Perceptron(64);
  grouped.matrix_flops += 1;
  EXPECT_FALSE(DeriveAlone(grouped, kNumbers)) << "matrix operations that are no such GEMM";
  TokenWork mixer = Perceptron(64);
  AddLayer(256, 64, 32, &mixer);
  EXPECT_FALSE(DeriveAlone(mixer, kNumbers)) << "rows of several kinds";
}

TEST(SamplesTest, RowsOfSeveralRanksMayBeTheSame) {
  const TokenWork work = Perceptron(64);
  EXPECT_FALSE(DeriveSamples({{.first = &work}, {.first = &work}}, kNumbers));
  EXPECT_FALSE(DeriveSamples({{.weight = 8, .first = &work}}, kNumbers));
}

}  // namespace
}  // namespace eidolon::controller::job
