// A communicator of one rank: nothing is communicated, and results are copies.
#include <gtest/gtest.h>

#include <cstdint>

#include "shim/gpu/memory/memory.h"
#include "shim/gpu/stream/stream.h"
#include "shim/value/pending.h"
#include "shim/vendor/library/submitted_work.h"
#include "shim/vendor/nccl/collective.h"
#include "shim/vendor/nccl/communicator.h"
#include "shim/vendor/nccl/group.h"
#include "shim/vendor/nccl/membership.h"

namespace eidolon::shim::nccl {
namespace {

class SingleRankTest : public ::testing::Test {
 protected:
  SingleRankTest() : agent_(library::StartAgent()) {
    ncclUniqueId id;
    communicator::GetUniqueId(&id);
    EXPECT_EQ(communicator::InitRank(&comm_, 1, id, 0), ncclSuccess);
    gpu::CreateStream(1, 0, &stream_);
    EXPECT_EQ(gpu::Allocate(0, 4 * kBufferBytes, &buffers_), gpu::Status::kSuccess);
    agent_.Reset();
  }
  ~SingleRankTest() override {
    value::ProcessPending().Drain();
    communicator::Destroy(comm_);
    gpu::DestroyStream(stream_);
    gpu::Free(buffers_);
  }

  static constexpr std::uint64_t kBufferBytes = 1 << 20;
  cudaStream_t stream() const { return static_cast<cudaStream_t>(stream_); }
  std::uint64_t Address(std::uint64_t i) const { return buffers_ + i * kBufferBytes; }
  float* Buffer(std::uint64_t i) const { return reinterpret_cast<float*>(Address(i)); }
  void Fill(std::uint64_t i, std::uint64_t byte, std::size_t bytes) const {
    value::ProcessPending().Fill(Address(i), byte, 1, bytes);
  }
  bool IsKnown(std::uint64_t i, std::size_t bytes) const {
    return value::ProcessPending().IsKnown(Address(i), bytes);
  }
  int ByteOf(std::uint64_t i, std::uint64_t offset = 0) const {
    unsigned char byte = 0;
    value::ProcessStore().Read(Address(i) + offset, &byte, 1);
    return byte;
  }

  core::FakeAgent& agent_;
  ncclComm_t comm_ = nullptr;
  gpu::StreamHandle stream_ = nullptr;
  std::uint64_t buffers_ = 0;
};

TEST_F(SingleRankTest, ACollectiveIsACopy) {
  Fill(0, 7, 64);

  ASSERT_EQ(collective::AllReduce(Buffer(0), Buffer(3), 16, ncclFloat32, ncclSum, comm_, stream()),
            ncclSuccess);

  EXPECT_TRUE(agent_.RecordsOf(ring::RecordKind::kCommunication).empty());
  EXPECT_EQ(library::LaunchedWork(agent_).size(), 1u);
  EXPECT_TRUE(IsKnown(3, 64));
}

TEST_F(SingleRankTest, AReceiveGetsWhatTheRankSendsItself) {
  Fill(0, 7, 64);
  Fill(1, 8, 32);
  Fill(2, 1, 64);
  Fill(3, 1, 64);

  ASSERT_EQ(group::Start(), ncclSuccess);
  ASSERT_EQ(collective::Receive(Buffer(2), 16, ncclFloat32, 0, comm_, stream()), ncclSuccess);
  ASSERT_EQ(collective::Send(Buffer(0), 16, ncclFloat32, 0, comm_, stream()), ncclSuccess);
  ASSERT_EQ(collective::Send(Buffer(1), 8, ncclFloat32, 0, comm_, stream()), ncclSuccess);
  ASSERT_EQ(collective::Receive(Buffer(3), 8, ncclFloat32, 0, comm_, stream()), ncclSuccess);
  ASSERT_EQ(group::End(), ncclSuccess);

  EXPECT_TRUE(agent_.RecordsOf(ring::RecordKind::kCommunication).empty());
  EXPECT_EQ(library::LaunchedWork(agent_).size(), 2u);
  EXPECT_EQ(ByteOf(2), 7);
  EXPECT_EQ(ByteOf(3), 8);
  EXPECT_EQ(ByteOf(3, 32), 1) << "not received";
}

TEST_F(SingleRankTest, ASendWithoutAReceiveIsRefused) {
  EXPECT_EQ(collective::Send(Buffer(0), 16, ncclFloat32, 0, comm_, stream()), ncclInvalidUsage);
  ASSERT_EQ(group::Start(), ncclSuccess);
  ASSERT_EQ(collective::Receive(Buffer(2), 16, ncclFloat32, 0, comm_, stream()), ncclSuccess);
  EXPECT_EQ(group::End(), ncclInvalidUsage);

  EXPECT_TRUE(library::LaunchedWork(agent_).empty());
}

TEST_F(SingleRankTest, AScaledSumLeavesUnknownBytes) {
  ncclRedOp_t scaled;
  float factor = 0.25f;
  ASSERT_EQ(
      collective::CreatePreMulSum(&scaled, &factor, ncclFloat32, ncclScalarHostImmediate, comm_),
      ncclSuccess);
  Fill(0, 7, 64);

  ASSERT_EQ(collective::AllReduce(Buffer(0), Buffer(2), 16, ncclFloat32, scaled, comm_, stream()),
            ncclSuccess);
  EXPECT_FALSE(IsKnown(2, 64));
  ASSERT_EQ(collective::AllReduce(Buffer(0), Buffer(0), 16, ncclFloat32, scaled, comm_, stream()),
            ncclSuccess);

  EXPECT_FALSE(IsKnown(0, 64));
  EXPECT_EQ(library::LaunchedWork(agent_).size(), 2u);
}

}  // namespace
}  // namespace eidolon::shim::nccl
