#include "shim/vendor/cudnn/spatial_transformer.h"

#include <array>
#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

#include "services/contract/ring/layout.h"
#include "shim/value/pending.h"
#include "shim/vendor/cudnn/descriptor.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/library/submitted_work.h"

namespace eidolon::shim::cudnn {
namespace {

class SpatialTransformerTest : public ::testing::Test {
 protected:
  SpatialTransformerTest() : agent_(library::StartAgent()) {
    EXPECT_EQ(handle::Create(&handle_), CUDNN_STATUS_SUCCESS);
    tensor::Create(&x_);
    tensor::Create(&y_);
    tensor::Set4d(x_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 2, 2, 2);
    tensor::Set4d(y_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 2, 1, 3);
    spatial_transformer::Create(&transformer_);
    const int dims[] = {1, 2, 1, 3};
    EXPECT_EQ(
        spatial_transformer::Set(transformer_, CUDNN_SAMPLER_BILINEAR, CUDNN_DATA_FLOAT, 4, dims),
        CUDNN_STATUS_SUCCESS);
    // The centre of the picture, its last pixel, and a point between its first two.
    const float input[] = {0, 1, 2, 3, 10, 11, 12, 13};
    const float grid[] = {0, 0, 1, 1, 0, -1};
    value::ProcessPending().Write(Address(0), input, sizeof(input));
    value::ProcessPending().Write(Address(1), grid, sizeof(grid));
    value::ProcessPending().Forget(Address(2), 24);
  }
  ~SpatialTransformerTest() override {
    agent_.header().unknown_reads &= ~ring::kComputeValues;
    spatial_transformer::Destroy(transformer_);
    tensor::Destroy(x_);
    tensor::Destroy(y_);
    handle::Destroy(handle_);
  }

  static void* Buffer(int i) { return reinterpret_cast<void*>(Address(i)); }
  static std::uint64_t Address(int i) {
    return 0x6b0100000000 + static_cast<std::uint64_t>(i) * 0x10000000;
  }
  cudnnStatus_t Forward(float beta = 0) {
    const float alpha = 1;
    return spatial_transformer::SamplerForward(handle_, transformer_, &alpha, x_, Buffer(0),
                                               Buffer(1), &beta, y_, Buffer(2));
  }
  workload::DnnOperation LastOperation() {
    const auto payload = library::LaunchedWork(agent_).back();
    workload::DnnGraph graph;
    std::memcpy(&graph, payload.data(), sizeof(graph));
    workload::DnnOperation operation;
    std::memcpy(&operation,
                payload.data() + sizeof(graph) + graph.tensor_count * sizeof(workload::DnnTensor),
                sizeof(operation));
    return operation;
  }

  core::FakeAgent& agent_;
  cudnnHandle_t handle_ = nullptr;
  cudnnTensorDescriptor_t x_ = nullptr;
  cudnnTensorDescriptor_t y_ = nullptr;
  cudnnSpatialTransformerDescriptor_t transformer_ = nullptr;
};

TEST_F(SpatialTransformerTest, SmallPicturesAreSampled) {
  agent_.header().unknown_reads |= ring::kComputeValues;
  ASSERT_EQ(Forward(), CUDNN_STATUS_SUCCESS);

  std::array<float, 6> output{};
  ASSERT_TRUE(value::ProcessPending().IsKnown(Address(2), sizeof(output)));
  value::ProcessPending().Read(Address(2), output.data(), sizeof(output), 0, nullptr);
  EXPECT_EQ(output, (std::array<float, 6>{1.5F, 3, 0.5F, 11.5F, 13, 10.5F}));
  const workload::DnnOperation operation = LastOperation();
  EXPECT_EQ(operation.kind, CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
  EXPECT_EQ(operation.input_count, 2u);
  EXPECT_EQ(operation.output_count, 1u);
}

TEST_F(SpatialTransformerTest, OtherResultsAreUnknown) {
  const float before[6] = {};
  value::ProcessPending().Write(Address(2), before, sizeof(before));
  ASSERT_EQ(Forward(), CUDNN_STATUS_SUCCESS);  // Values are not computed,
  EXPECT_FALSE(value::ProcessPending().IsKnown(Address(2), 4));

  agent_.header().unknown_reads |= ring::kComputeValues;
  value::ProcessPending().Write(Address(2), before, sizeof(before));
  ASSERT_EQ(Forward(1), CUDNN_STATUS_SUCCESS);  // and sums with what was there never are.
  EXPECT_FALSE(value::ProcessPending().IsKnown(Address(2), 4));
}

TEST_F(SpatialTransformerTest, TheBackwardPassWritesBothGradients) {
  const float gradients[8] = {};
  value::ProcessPending().Write(Address(3), gradients, sizeof(gradients));
  value::ProcessPending().Write(Address(4), gradients, sizeof(gradients));
  ASSERT_EQ(spatial_transformer::SamplerBackward(handle_, transformer_, nullptr, x_, Buffer(0),
                                                 nullptr, x_, Buffer(3), nullptr, y_, Buffer(2),
                                                 Buffer(1), nullptr, Buffer(4)),
            CUDNN_STATUS_SUCCESS);

  EXPECT_EQ(LastOperation().kind, CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR);
  EXPECT_EQ(LastOperation().output_count, 2u);
  EXPECT_FALSE(value::ProcessPending().IsKnown(Address(3) + 28, 4));
  EXPECT_FALSE(value::ProcessPending().IsKnown(Address(4) + 20, 4));
  EXPECT_TRUE(value::ProcessPending().IsKnown(Address(4) + 24, 4));
}

TEST_F(SpatialTransformerTest, WhatDoesNotFitIsRefused) {
  const int dims[] = {1, 2, 1, 3, 4};
  EXPECT_EQ(
      spatial_transformer::Set(transformer_, CUDNN_SAMPLER_BILINEAR, CUDNN_DATA_FLOAT, 5, dims),
      CUDNN_STATUS_NOT_SUPPORTED);
  tensor::Set4d(y_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 3, 1, 3);
  EXPECT_EQ(Forward(), CUDNN_STATUS_BAD_PARAM);
}

}  // namespace
}  // namespace eidolon::shim::cudnn
