#include "shim/vendor/cudnn/ctc_loss.h"

#include <gtest/gtest.h>

#include "shim/value/pending.h"
#include "shim/vendor/cudnn/descriptor.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/library/submitted_work.h"

namespace eidolon::shim::cudnn {
namespace {

// 10 steps of two members over 5 classes.
class CtcLossTest : public ::testing::Test {
 protected:
  CtcLossTest() : agent_(library::StartAgent()) {
    EXPECT_EQ(handle::Create(&handle_), CUDNN_STATUS_SUCCESS);
    ctc_loss::Create(&loss_);
    tensor::Create(&shape_);
    const int dims[] = {10, 2, 5};
    const int strides[] = {10, 5, 1};
    tensor::SetNd(shape_, CUDNN_DATA_FLOAT, 3, dims, strides);
    agent_.Reset();
  }
  ~CtcLossTest() override {
    ctc_loss::Destroy(loss_);
    tensor::Destroy(shape_);
    handle::Destroy(handle_);
  }
  std::size_t WorkspaceBytes(const int* lengths) {
    std::size_t bytes = 0;
    EXPECT_EQ(ctc_loss::WorkspaceSize(handle_, shape_, shape_, lengths, lengths, lengths,
                                      CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, loss_, &bytes),
              CUDNN_STATUS_SUCCESS);
    return bytes;
  }
  cudnnStatus_t Run(const int* lengths, void* gradients, std::size_t bytes) {
    return ctc_loss::Run(handle_, shape_, Buffer(0), lengths, lengths, lengths, Buffer(1), shape_,
                         gradients, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, loss_, Buffer(3), bytes);
  }
  static void* Buffer(int i) { return reinterpret_cast<void*>(Address(i)); }
  static std::uint64_t Address(int i) {
    return 0x6d0100000000 + static_cast<std::uint64_t>(i) * 0x10000000;
  }
  workload::Library Last() {
    return library::As<workload::Library>(library::LaunchedWork(agent_).back());
  }

  core::FakeAgent& agent_;
  cudnnHandle_t handle_ = nullptr;
  cudnnCTCLossDescriptor_t loss_ = nullptr;
  cudnnTensorDescriptor_t shape_ = nullptr;
};

TEST_F(CtcLossTest, ACallReadsItsClassesAndVisitsItsStates) {
  const int lengths[] = {2, 3};
  ASSERT_EQ(ctc_loss::Set(loss_, CUDNN_DATA_FLOAT), CUDNN_STATUS_SUCCESS);
  const std::size_t workspace = WorkspaceBytes(lengths);
  EXPECT_EQ(workspace, 2u * 10 * 2 * 7 * 4);
  value::ProcessPending().Fill(Address(1), 0, 1, 12);
  value::ProcessPending().Fill(Address(2), 0, 1, 404);

  ASSERT_EQ(Run(lengths, nullptr, workspace), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(Last().memory_bytes, 400u + 2 * 4 * 140);
  ASSERT_EQ(Run(lengths, Buffer(2), workspace), CUDNN_STATUS_SUCCESS);

  EXPECT_EQ(Last().memory_bytes, 2 * (400u + 2 * 4 * 140));
  EXPECT_EQ(Last().flops, 10u * 280);
  EXPECT_FALSE(value::ProcessPending().IsKnown(Address(1), 8));
  EXPECT_TRUE(value::ProcessPending().IsKnown(Address(1) + 8, 4));
  EXPECT_FALSE(value::ProcessPending().IsKnown(Address(2), 400));
  EXPECT_TRUE(value::ProcessPending().IsKnown(Address(2) + 400, 4));
}

TEST_F(CtcLossTest, LengthsOnTheDeviceCountAsTheLongest) {
  ASSERT_EQ(ctc_loss::SetBoundedV9(loss_, CUDNN_DATA_FLOAT, CUDNN_LOSS_NORMALIZATION_SOFTMAX,
                                   CUDNN_CTC_ZERO_OOB_GRADIENTS, 8),
            CUDNN_STATUS_SUCCESS);
  std::size_t bytes = 0;
  ASSERT_EQ(ctc_loss::WorkspaceSizeBounded(handle_, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, loss_,
                                           shape_, shape_, &bytes),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 2u * 10 * 2 * 17 * 4);

  ASSERT_EQ(ctc_loss::RunBounded(handle_, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, loss_, shape_,
                                 Buffer(0), nullptr, nullptr, nullptr, Buffer(1), shape_, Buffer(2),
                                 bytes, Buffer(3)),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(library::NameOf(library::LaunchedWork(agent_).back()), "cudnn.ctc_loss");
}

TEST_F(CtcLossTest, WhatDoesNotFitIsRefused) {
  const int lengths[] = {2, 3};
  EXPECT_EQ(ctc_loss::Set(loss_, CUDNN_DATA_HALF), CUDNN_STATUS_NOT_SUPPORTED);
  ASSERT_EQ(ctc_loss::Set(loss_, CUDNN_DATA_FLOAT), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(Run(lengths, nullptr, WorkspaceBytes(lengths) - 1), CUDNN_STATUS_BAD_PARAM);
  const int negative[] = {-2, -3};
  EXPECT_EQ(Run(negative, nullptr, 1 << 20), CUDNN_STATUS_BAD_PARAM);
}

}  // namespace
}  // namespace eidolon::shim::cudnn
