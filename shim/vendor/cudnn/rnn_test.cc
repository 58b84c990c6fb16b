#include "shim/vendor/cudnn/rnn.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "shim/value/pending.h"
#include "shim/vendor/cudnn/descriptor.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/cudnn/rnn_descriptor.h"
#include "shim/vendor/library/submitted_work.h"

namespace eidolon::shim::cudnn {
namespace {

// Two layers of 8 cells over an input of 6 elements; sequences of 3 and 2 steps.
class RnnTest : public ::testing::Test {
 protected:
  RnnTest() : agent_(library::StartAgent()) {
    EXPECT_EQ(handle::Create(&handle_), CUDNN_STATUS_SUCCESS);
    rnn::Create(&network_);
    rnn::CreateData(&x_);
    rnn::CreateData(&y_);
    tensor::Create(&state_);
    tensor::Create(&matrix_);
    tensor::Create(&bias_);
    agent_.Reset();
  }
  ~RnnTest() override {
    rnn::Destroy(network_);
    rnn::DestroyData(x_);
    rnn::DestroyData(y_);
    for (const auto descriptor : {state_, matrix_, bias_}) tensor::Destroy(descriptor);
    handle::Destroy(handle_);
  }

  cudnnStatus_t Describe(cudnnRNNMode_t cell, int projection = 8,
                         cudnnDirectionMode_t direction = CUDNN_UNIDIRECTIONAL,
                         cudnnMathType_t math = CUDNN_DEFAULT_MATH) {
    const int lengths[] = {3, 2};
    const int directions = direction == CUDNN_BIDIRECTIONAL ? 2 : 1;
    rnn::SetData(x_, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 3, 2, 6, lengths,
                 nullptr);
    rnn::SetData(y_, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 3, 2,
                 projection * directions, lengths, nullptr);
    const int dims[] = {2 * directions, 2, projection};
    const int strides[] = {2 * projection, projection, 1};
    tensor::SetNd(state_, CUDNN_DATA_FLOAT, 3, dims, strides);
    return rnn::Set(network_, CUDNN_RNN_ALGO_STANDARD, cell, CUDNN_RNN_DOUBLE_BIAS, direction,
                    CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, math, 6, 8, projection,
                    2, nullptr, CUDNN_RNN_PADDED_IO_ENABLED);
  }
  std::size_t WeightBytes() {
    std::size_t bytes = 0;
    EXPECT_EQ(rnn::GetWeightSpaceSize(handle_, network_, &bytes), CUDNN_STATUS_SUCCESS);
    return bytes;
  }
  cudnnStatus_t Forward(cudnnForwardMode_t mode, std::size_t missing = 0) {
    std::size_t work = 0, reserve = 0;
    EXPECT_EQ(rnn::GetTempSpaceSizes(handle_, network_, mode, x_, &work, &reserve),
              CUDNN_STATUS_SUCCESS);
    return rnn::Forward(handle_, network_, mode, nullptr, x_, Buffer(0), y_, Buffer(1), state_,
                        nullptr, Buffer(2), state_, nullptr, nullptr, WeightBytes(), Buffer(3),
                        work, Buffer(4), reserve - missing, Buffer(5));
  }
  // Returns what was put on the stream: "GEMM m n k" or a call's name.
  std::vector<std::string> Issued() {
    std::vector<std::string> all;
    for (const auto& definition : library::LaunchedWork(agent_)) {
      const auto gemm = library::As<workload::Gemm>(definition);
      if (library::As<workload::WorkHeader>(definition).kind == workload::WorkKind::kGemm) {
        all.push_back("GEMM " + std::to_string(gemm.m) + " " + std::to_string(gemm.n) + " " +
                      std::to_string(gemm.k));
        compute_type_ = gemm.compute_type;
      } else {
        all.push_back(library::NameOf(definition));
      }
    }
    return all;
  }
  static void* Buffer(int i) { return reinterpret_cast<void*>(Address(i)); }
  static std::uint64_t Address(int i) {
    return 0x6c0100000000 + static_cast<std::uint64_t>(i) * 0x10000000;
  }

  core::FakeAgent& agent_;
  cudnnHandle_t handle_ = nullptr;
  cudnnRNNDescriptor_t network_ = nullptr;
  cudnnRNNDataDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnTensorDescriptor_t state_ = nullptr, matrix_ = nullptr, bias_ = nullptr;
  std::uint32_t compute_type_ = 0;
};

using Work = std::vector<std::string>;

TEST_F(RnnTest, WeightsFollowEachOtherAndThenTheirBiases) {
  ASSERT_EQ(Describe(CUDNN_LSTM), CUDNN_STATUS_SUCCESS);
  const std::size_t matrices = 4 * 8 * 6 + 4 * 8 * 8 + 2 * (4 * 8 * 8);
  EXPECT_EQ(WeightBytes(), (matrices + 2 * 8 * 8) * sizeof(float));

  void* matrix = nullptr;
  void* bias = nullptr;
  ASSERT_EQ(rnn::GetWeightParams(handle_, network_, 1, WeightBytes(), Buffer(0), 5, matrix_,
                                 &matrix, bias_, &bias),
            CUDNN_STATUS_SUCCESS);

  const std::size_t first_layer = 4 * 8 * 6 + 4 * 8 * 8;
  EXPECT_EQ(static_cast<char*>(matrix) - static_cast<char*>(Buffer(0)),
            (first_layer + 5 * 64) * sizeof(float));
  EXPECT_EQ(static_cast<char*>(bias) - static_cast<char*>(Buffer(0)),
            (matrices + 64 + 5 * 8) * sizeof(float));
  EXPECT_EQ(TensorDescriptor::Find(matrix_)->dims, (std::vector<int>{1, 8, 8}));
  EXPECT_EQ(TensorDescriptor::Find(bias_)->dims, (std::vector<int>{1, 8, 1}));
}

TEST_F(RnnTest, EachStepIsAGemmAndACell) {
  ASSERT_EQ(Describe(CUDNN_GRU), CUDNN_STATUS_SUCCESS);
  value::ProcessPending().Fill(Address(1), 0, 1, 3 * 2 * 8 * 4 + 4);

  ASSERT_EQ(Forward(CUDNN_FWD_MODE_INFERENCE), CUDNN_STATUS_SUCCESS);

  const std::string cell = "cudnn.rnn_cell";
  EXPECT_EQ(Issued(),
            (Work{"GEMM 24 5 6", "GEMM 24 2 8", cell, "GEMM 24 2 8", cell, "GEMM 24 1 8", cell,
                  "GEMM 24 5 8", "GEMM 24 2 8", cell, "GEMM 24 2 8", cell, "GEMM 24 1 8", cell}));
  EXPECT_EQ(compute_type_, 77u);  // CUBLAS_COMPUTE_32F_FAST_TF32.
  EXPECT_FALSE(value::ProcessPending().IsKnown(Address(1), 4));
  EXPECT_TRUE(value::ProcessPending().IsKnown(Address(1) + 3 * 2 * 8 * 4, 4));
}

TEST_F(RnnTest, InputsAreMultipliedForManyStepsTogether) {
  ASSERT_EQ(Describe(CUDNN_RNN_TANH), CUDNN_STATUS_SUCCESS);
  const int lengths[] = {40, 10};
  for (const auto& [data, size] : {std::pair{x_, 6}, {y_, 8}}) {
    rnn::SetData(data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 40, 2, size,
                 lengths, nullptr);
  }

  ASSERT_EQ(Forward(CUDNN_FWD_MODE_INFERENCE), CUDNN_STATUS_SUCCESS);

  const Work issued = Issued();
  ASSERT_EQ(issued.size(), 2u * (2 + 2 * 40));
  EXPECT_EQ(issued[0], "GEMM 8 42 6");
  EXPECT_EQ(issued[1 + 2 * 32], "GEMM 8 8 6");
}

TEST_F(RnnTest, AProjectionAddsAGemmToEachStep) {
  ASSERT_EQ(Describe(CUDNN_LSTM, 4, CUDNN_UNIDIRECTIONAL, CUDNN_FMA_MATH), CUDNN_STATUS_SUCCESS);

  ASSERT_EQ(Forward(CUDNN_FWD_MODE_TRAINING), CUDNN_STATUS_SUCCESS);

  const Work issued = Issued();
  ASSERT_EQ(issued.size(), 20u);
  EXPECT_EQ(issued[1], "GEMM 32 2 4");
  EXPECT_EQ(issued[3], "GEMM 4 2 8");
  EXPECT_EQ(issued[10], "GEMM 32 5 4");
  EXPECT_EQ(compute_type_, 68u);  // CUBLAS_COMPUTE_32F.
}

TEST_F(RnnTest, GradientsGoBackThroughLayersAndSteps) {
  ASSERT_EQ(Describe(CUDNN_RNN_TANH, 8, CUDNN_BIDIRECTIONAL), CUDNN_STATUS_SUCCESS);
  std::size_t work = 0, reserve = 0;
  rnn::GetTempSpaceSizes(handle_, network_, CUDNN_FWD_MODE_TRAINING, x_, &work, &reserve);
  const std::size_t weights = WeightBytes();

  ASSERT_EQ(rnn::BackwardData(handle_, network_, nullptr, y_, Buffer(0), Buffer(1), x_, Buffer(2),
                              state_, nullptr, nullptr, Buffer(3), nullptr, nullptr, nullptr,
                              nullptr, weights, Buffer(4), work, Buffer(5), reserve, Buffer(6)),
            CUDNN_STATUS_SUCCESS);
  const Work data = Issued();
  agent_.Reset();
  ASSERT_EQ(rnn::BackwardWeights(handle_, network_, CUDNN_WGRAD_MODE_ADD, nullptr, x_, Buffer(0),
                                 state_, nullptr, y_, Buffer(1), weights, Buffer(4), work,
                                 Buffer(5), reserve, Buffer(6)),
            CUDNN_STATUS_SUCCESS);

  ASSERT_EQ(data.size(), 28u);  // Two layers, two directions: three steps of two, and the input.
  EXPECT_EQ(data[0], "cudnn.rnn_cell_gradient");
  EXPECT_EQ(data[1], "GEMM 8 1 8");
  EXPECT_EQ(data[6], "GEMM 16 5 8");
  EXPECT_EQ(data[27], "GEMM 6 5 8");
  const Work gradients = Issued();
  ASSERT_EQ(gradients.size(), 12u);
  EXPECT_EQ(gradients[0], "GEMM 6 8 5");
  EXPECT_EQ(gradients[1], "GEMM 8 8 5");
  EXPECT_EQ(gradients[2], "cudnn.rnn_bias_gradient");
}

TEST_F(RnnTest, TrainingKeepsWhatInferenceDoesNot) {
  ASSERT_EQ(Describe(CUDNN_LSTM), CUDNN_STATUS_SUCCESS);
  std::size_t work = 0, reserve = 1;

  rnn::GetTempSpaceSizes(handle_, network_, CUDNN_FWD_MODE_INFERENCE, x_, &work, &reserve);
  EXPECT_EQ(work, 3u * 2 * 32 * sizeof(float));
  EXPECT_EQ(reserve, 0u);
  rnn::GetTempSpaceSizes(handle_, network_, CUDNN_FWD_MODE_TRAINING, x_, &work, &reserve);
  EXPECT_EQ(reserve, 2u * 6 * (32 + 8 + 8) * sizeof(float) + 6 * 8);
  EXPECT_EQ(Forward(CUDNN_FWD_MODE_TRAINING, 1), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(RnnTest, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(Describe(CUDNN_GRU, 4), CUDNN_STATUS_NOT_SUPPORTED);
  std::size_t bytes = 0;
  EXPECT_EQ(rnn::GetWeightSpaceSize(handle_, network_, &bytes), CUDNN_STATUS_BAD_PARAM);
  ASSERT_EQ(Describe(CUDNN_GRU), CUDNN_STATUS_SUCCESS);
  const int lengths[] = {4, 2};
  EXPECT_EQ(rnn::SetData(x_, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 3, 2, 6,
                         lengths, nullptr),
            CUDNN_STATUS_BAD_PARAM);
  void* matrix = nullptr;
  EXPECT_EQ(rnn::GetWeightParams(handle_, network_, 2, WeightBytes(), nullptr, 0, matrix_, &matrix,
                                 bias_, nullptr),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(rnn::GetWeightParams(handle_, network_, 0, WeightBytes(), nullptr, 6, matrix_, &matrix,
                                 bias_, nullptr),
            CUDNN_STATUS_BAD_PARAM);
}

TEST_F(RnnTest, DescriptionsAreTold) {
  ASSERT_EQ(Describe(CUDNN_LSTM, 4), CUDNN_STATUS_SUCCESS);
  cudnnRNNMode_t cell = CUDNN_GRU;
  std::int32_t projection = 0, layers = 0;
  ASSERT_EQ(rnn::Get(network_, nullptr, &cell, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                     nullptr, nullptr, &projection, &layers, nullptr, nullptr),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(cell, CUDNN_LSTM);
  EXPECT_EQ(projection, 4);
  EXPECT_EQ(layers, 2);
  int lengths[2] = {};
  int longest = 0;
  ASSERT_EQ(rnn::GetData(x_, nullptr, nullptr, &longest, nullptr, nullptr, 2, lengths, nullptr),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(longest, 3);
  EXPECT_EQ(lengths[1], 2);
}

}  // namespace
}  // namespace eidolon::shim::cudnn
