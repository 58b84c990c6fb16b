#include "services/timing/model/counts.h"

#include <gtest/gtest.h>

#include "services/contract/cudnn_numbers/operation.h"
#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/grouped_gemm.h"
#include "services/timing/kernel/dnn_test.h"
#include "services/timing/kernel/launch_test.h"
#include "services/timing/model/attention_model.h"

namespace eidolon::timing::model {
namespace {

using kernel::DnnGraph;
using kernel::DnnTensor;

double FlopsOf(const kernel::WorkItem& item) {
  kernel::KernelNames names;
  return CountsOf(item, &names).matrix_flops;
}

DnnTensor Tensor(std::int64_t uid, const std::vector<std::int64_t>& dims) {
  return kernel::TensorOf(uid, dims);
}

kernel::DnnOperation Operation(std::uint32_t kind, const std::vector<std::int64_t>& inputs,
                               std::int64_t output) {
  return kernel::OperationOf(kind, inputs, {output});
}

TEST(CountsTest, CountsAMultiplicationAndAnAdditionForEachTermOfAGemm) {
  kernel::Gemm gemm;
  gemm.m = 10;
  gemm.n = 20;
  gemm.k = 30;
  gemm.batch = 4;

  EXPECT_DOUBLE_EQ(FlopsOf(gemm), 2.0 * 10 * 20 * 30 * 4);
}

TEST(CountsTest, TellsTheRowsThatALinearLayerMultiplies) {
  kernel::Gemm gemm;
  gemm.m = 50304;
  gemm.n = 4096;
  gemm.k = 768;
  kernel::KernelNames names;

  const auto counts = CountsOf(gemm, &names);

  ASSERT_TRUE(counts.gemm);
  EXPECT_EQ(counts.gemm->rows, 4096u);
  EXPECT_EQ(counts.gemm->outputs, 50304u);
  EXPECT_EQ(counts.gemm->inputs, 768u);
  EXPECT_FALSE(counts.lookups);
}

TEST(CountsTest, TellsWhatAnEmbeddingLooksUp) {
  const auto gather =
      kernel::LaunchBuilder("_ZN2at6native24vectorized_gather_kernelILi16ElEEvPcS2_PT0_illllb")
          .Grid(8192)
          .Block(96)
          .Pointers(1)
          .Pointers(1)
          .Pointers(1)
          .Add<std::int32_t>(8192)
          .Add<std::int64_t>(1536)
          .Add<std::int64_t>(50304)
          .Add<std::int64_t>(1536)
          .Add<std::int64_t>(1536)
          .Add<std::int8_t>(0)
          .Build();
  kernel::KernelNames names;

  const auto counts = CountsOf(gather, &names);

  ASSERT_TRUE(counts.lookups);
  EXPECT_EQ(*counts.lookups,
            (kernel::Lookups{.indices = 8192, .table_rows = 50304, .row_bytes = 1536}));
  EXPECT_FALSE(counts.gemm);
}

TEST(CountsTest, ACompiledLookupTellsTheElementsOfAllItsRows) {
  kernel::KernelNames names;
  const auto lookups_of = [&](const char* name, std::initializer_list<std::int32_t> sizes) {
    kernel::LaunchBuilder builder(name);
    builder.Grid(8192).Block(128).Pointers(3);
    for (const std::int32_t size : sizes) builder.Add(size);
    return CountsOf(builder.Pointers(2).Build(), &names).lookups;
  };

  EXPECT_EQ(lookups_of("triton_poi_fused_embedding_0", {8192 * 768}),
            kernel::Lookups{.indices = 8192 * 768});
  EXPECT_EQ(lookups_of("triton_red_fused_add_embedding_native_layer_norm_0", {8192, 768}),
            kernel::Lookups{.indices = 8192 * 768});
  EXPECT_FALSE(lookups_of("triton_poi_fused_embedding_dense_backward_3", {50304 * 768}));
  EXPECT_FALSE(lookups_of("triton_poi_fused_add_mul_1", {8192 * 768}));
}

TEST(CountsTest, CountsTheRowsOfAllGroupsOnce) {
  const auto grouped = [](workload::GroupedGemm::Ragged ragged) {
    const workload::GroupedGemm sizes{.m = 100, .n = 20, .k = 30, .groups = 4, .ragged = ragged};
    return kernel::LaunchBuilder("_ZN7cutlass13device_kernelEv").Pointer().Add(sizes).Build();
  };

  EXPECT_DOUBLE_EQ(FlopsOf(grouped(workload::GroupedGemm::Ragged::kM)), 2.0 * 100 * 20 * 30);
  EXPECT_DOUBLE_EQ(FlopsOf(grouped(workload::GroupedGemm::Ragged::kNone)), 8.0 * 100 * 20 * 30);
}

TEST(CountsTest, LeavesOutWhatACausalMaskHides) {
  kernel::Demand demand;
  demand.family = kernel::Family::kAttentionForward;
  demand.query_length = demand.key_length = 4;
  demand.head_size = 8;
  demand.batch_heads = 3;

  EXPECT_DOUBLE_EQ(AttentionFlops(demand), 4.0 * 16 * 8 * 3);
  demand.causal = true;
  EXPECT_DOUBLE_EQ(AttentionFlops(demand), 4.0 * (1 + 2 + 3 + 4) * 8 * 3);
  demand.query_length = 2;
  EXPECT_DOUBLE_EQ(AttentionFlops(demand), 4.0 * (3 + 4) * 8 * 3);
  demand.family = kernel::Family::kAttentionBackward;
  EXPECT_DOUBLE_EQ(AttentionFlops(demand), 10.0 * (3 + 4) * 8 * 3);
}

TEST(CountsTest, CountsAConvolutionAndItsGradientsAlike) {
  DnnGraph graph;
  graph.tensors = {Tensor(1, {8, 16, 32, 32}), Tensor(2, {64, 16, 3, 3}),
                   Tensor(3, {8, 64, 32, 32})};
  const double expected = 2.0 * (8 * 64 * 32 * 32) * (16 * 3 * 3);

  graph.operations = {Operation(cudnn_numbers::kConvolutionForward, {1, 2}, 3)};
  EXPECT_DOUBLE_EQ(FlopsOf(graph), expected);
  graph.operations = {Operation(cudnn_numbers::kConvolutionBackwardData, {3, 2}, 1)};
  EXPECT_DOUBLE_EQ(FlopsOf(graph), expected);
  graph.operations = {Operation(cudnn_numbers::kConvolutionBackwardFilter, {1, 3}, 2)};
  EXPECT_DOUBLE_EQ(FlopsOf(graph), expected);
}

TEST(CountsTest, CountsTheGemmsOfAGraph) {
  DnnGraph graph;
  graph.tensors = {Tensor(1, {5, 10, 30}), Tensor(2, {5, 30, 20}), Tensor(3, {5, 10, 20})};
  graph.operations = {Operation(cudnn_numbers::kMatmul, {1, 2}, 3)};

  EXPECT_DOUBLE_EQ(FlopsOf(graph), 2.0 * 5 * 10 * 20 * 30);
}

TEST(CountsTest, CountsNothingInCopiesAndElementWiseKernels) {
  EXPECT_EQ(FlopsOf(kernel::Copy{.kind = workload::CopyKind::kHostToDevice,
                                 .pinned = true,
                                 .bytes = 1000,
                                 .row_bytes = 1000}),
            0);
  EXPECT_EQ(FlopsOf(kernel::LaunchBuilder("_Z4fillPfi").Grid(3).Block(32).Pointer().Build()), 0);
}

}  // namespace
}  // namespace eidolon::timing::model
