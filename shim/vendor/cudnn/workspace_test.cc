#include "shim/vendor/cudnn/workspace.h"

#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <gtest/gtest.h>

#include <vector>

namespace eidolon::shim::cudnn {
namespace {

workload::DnnTensor Tensor(std::int64_t number, std::vector<std::int64_t> dims, std::uint32_t type,
                           bool is_virtual = false) {
  workload::DnnTensor tensor{};
  tensor.uid = number;
  std::ranges::copy(dims, tensor.dims);
  tensor.rank = static_cast<std::uint32_t>(dims.size());
  tensor.type = type;
  tensor.is_virtual = is_virtual ? 1 : 0;
  return tensor;
}

workload::DnnOperation Operation(std::uint32_t kind, std::vector<std::int64_t> inputs,
                                 std::int64_t output) {
  workload::DnnOperation operation{};
  operation.kind = kind;
  std::ranges::copy(inputs, operation.inputs);
  operation.input_count = static_cast<std::uint32_t>(inputs.size());
  operation.outputs[0] = output;
  operation.output_count = 1;
  return operation;
}

// Attention backward, 2 x 8 heads of 128, `queries` by `keys` of `type`; the queries' gradients are
// added up in `accumulator`.
std::int64_t OfAttention(std::int64_t queries, std::int64_t keys, std::uint32_t accumulator,
                         std::uint32_t type = CUDA_R_16BF) {
  const std::vector<std::int64_t> scores = {2, 8, queries, keys};
  const std::vector<std::int64_t> rows = {2, 8, queries, 128};
  const std::vector<std::int64_t> columns = {2, 8, keys, 128};
  const std::vector<workload::DnnTensor> tensors = {Tensor(1, rows, type),
                                                    Tensor(2, {2, 8, 128, keys}, type),
                                                    Tensor(3, scores, CUDA_R_32F, true),
                                                    Tensor(4, columns, CUDA_R_16BF),
                                                    Tensor(5, scores, CUDA_R_16BF, true),
                                                    Tensor(6, columns, CUDA_R_16BF),
                                                    Tensor(7, rows, accumulator)};
  const auto gemm = [](std::vector<std::int64_t> inputs, std::int64_t output) {
    return Operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, std::move(inputs), output);
  };
  const std::vector<workload::DnnOperation> operations = {
      gemm({1, 2}, 3), gemm({3, 1}, 4), gemm({1, 2}, 5), gemm({5, 1}, 6), gemm({5, 4}, 7)};
  return WorkspaceOf(tensors, operations);
}

TEST(WorkspaceTest, DeterministicAttentionKeepsItsScoreGradients) {
  EXPECT_EQ(OfAttention(8192, 8192, CUDA_R_16BF), 2LL * 8 * 8192 * 8192 * 2);
  EXPECT_EQ(OfAttention(100, 65, CUDA_R_16BF), 2LL * 8 * 128 * 128 * 2);
}

TEST(WorkspaceTest, AttentionThatAccumulatesNeedsNone) {
  EXPECT_EQ(OfAttention(8192, 8192, CUDA_R_32F), 0);
}

TEST(WorkspaceTest, AttentionInEightBitsNeedsNone) {
  EXPECT_EQ(OfAttention(8192, 8192, CUDA_R_16BF, CUDA_R_8F_E4M3), 0);
}

TEST(WorkspaceTest, NarrowFilterGradientsAreAddedUpInSinglePrecision) {
  const auto of_type = [](std::uint32_t type) {
    const std::vector<workload::DnnTensor> tensors = {Tensor(1, {8, 64, 28, 28}, type),
                                                      Tensor(2, {64, 64, 3, 3}, type)};
    const std::vector<workload::DnnOperation> operations = {
        Operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, {1, 1}, 2)};
    return WorkspaceOf(tensors, operations);
  };
  EXPECT_EQ(of_type(CUDA_R_16BF), 64 * 64 * 9 * 4);
  EXPECT_EQ(of_type(CUDA_R_32F), 0);
}

TEST(WorkspaceTest, ImpossibleSizesAreBounded) {
  EXPECT_EQ(OfAttention(std::int64_t{1} << 60, std::int64_t{1} << 60, CUDA_R_16BF),
            1'000'000'000'000'000);
}

}  // namespace
}  // namespace eidolon::shim::cudnn
