// Calls that cannot mean anything, and those at the edge of them that can.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "shim/gpu/allocation/host_memory.h"
#include "shim/gpu/allocation/virtual_memory.h"
#include "shim/gpu/memory/memory.h"
#include "shim/gpu/stream/stream.h"
#include "shim/value/pending.h"
#include "shim/vendor/library/submitted_work.h"
#include "shim/vendor/nccl/collective.h"
#include "shim/vendor/nccl/communicator.h"
#include "shim/vendor/nccl/group.h"
#include "shim/vendor/nccl/membership.h"
#include "shim/vendor/nccl/registration.h"

namespace eidolon::shim::nccl {
namespace {

using ring::RecordKind;
using ::testing::HasSubstr;

constexpr std::size_t kMost = ~std::size_t{0};
constexpr std::size_t kElements = 1 << 18;  // Of a float buffer.
constexpr int kRanks = 4;
constexpr const char* kEnds = "to the end of its allocation";

struct Row {
  std::string name;
  std::function<ncclResult_t()> call;
  ncclResult_t expected;
  std::string said{};
};

class ImpossibleCallTest : public ::testing::Test {
 protected:
  ImpossibleCallTest() : agent_(library::StartAgent()) {
    ncclUniqueId id;
    communicator::GetUniqueId(&id);
    EXPECT_EQ(communicator::InitRank(&comm_, kRanks, id, 1), ncclSuccess);
    gpu::CreateStream(1, 0, &stream_);
    EXPECT_EQ(gpu::Allocate(0, kElements * sizeof(float), &address_), gpu::Status::kSuccess);
    agent_.Reset();
  }
  ~ImpossibleCallTest() override {
    value::ProcessPending().Drain();
    communicator::Destroy(comm_);
    gpu::DestroyStream(stream_);
    gpu::Free(address_);
  }

  cudaStream_t stream() const { return static_cast<cudaStream_t>(stream_); }
  float* buffer() const { return reinterpret_cast<float*>(address_); }
  std::size_t Issued() { return agent_.RecordsOf(RecordKind::kCommunication).size(); }
  ncclResult_t Sum(const void* input, void* output, std::size_t count) {
    return collective::AllReduce(input, output, count, ncclFloat32, ncclSum, comm_, stream());
  }
  ncclResult_t Sum(float* both, std::size_t count) { return Sum(both, both, count); }
  ncclResult_t Send(const void* input, std::size_t count) {
    return collective::Send(input, count, ncclFloat32, 2, comm_, stream());
  }
  ncclResult_t Receive(void* output, std::size_t count) {
    return collective::Receive(output, count, ncclFloat32, 2, comm_, stream());
  }
  ncclResult_t Gather(std::size_t count, ncclDataType_t type) {
    return collective::AllGather(buffer(), buffer(), count, type, comm_, stream());
  }

  // What is taken is issued, once; what is refused is not.
  void ExpectAll(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      agent_.Reset();
      EXPECT_EQ(row.call(), row.expected) << row.name;
      EXPECT_EQ(Issued(), row.expected == ncclSuccess ? 1u : 0u) << row.name;
      if (row.said.empty()) continue;
      EXPECT_THAT(communicator::GetLastError(comm_), HasSubstr(row.said)) << row.name;
    }
  }

  core::FakeAgent& agent_;
  ncclComm_t comm_ = nullptr;
  gpu::StreamHandle stream_ = nullptr;
  std::uint64_t address_ = 0;
};

TEST_F(ImpossibleCallTest, BuffersEndWithTheirAllocation) {
  int on_host = 0;
  void* pinned = nullptr;
  ASSERT_EQ(gpu::AllocateHost(4096, 0, &pinned), gpu::Status::kSuccess);
  std::uint64_t freed = 0;
  ASSERT_EQ(gpu::Allocate(0, 4 << 20, &freed), gpu::Status::kSuccess);
  gpu::Free(freed);
  const std::string kNowhere = "not memory that the GPU reaches";

  ExpectAll({
      {"the whole buffer", [&] { return Sum(buffer(), kElements); }, ncclSuccess},
      {"its last element", [&] { return Sum(buffer() + kElements - 1, 1); }, ncclSuccess},
      {"one more", [&] { return Sum(buffer(), kElements + 1); }, ncclInvalidArgument, kEnds},
      {"page-locked", [&] { return Sum(buffer(), pinned, 1024); }, ncclSuccess},
      {"page-locked and more", [&] { return Sum(buffer(), pinned, 1025); }, ncclInvalidArgument,
       "the receive buffer has 4096 bytes"},
      {"pageable", [&] { return Sum(buffer(), &on_host, 1); }, ncclInvalidArgument, kNowhere},
      {"freed", [&] { return Sum(reinterpret_cast<float*>(freed), 1); }, ncclInvalidArgument,
       kNowhere},
      {"null input", [&] { return Sum(nullptr, buffer(), 1); }, ncclInvalidArgument,
       "the send buffer is null"},
      {"null output", [&] { return Sum(buffer(), nullptr, 1); }, ncclInvalidArgument,
       "the receive buffer is null"},
      {"a send too large", [&] { return Send(buffer() + 1, kElements); }, ncclInvalidArgument,
       kEnds},
      {"a receive too large", [&] { return Receive(buffer() + 1, kElements); }, ncclInvalidArgument,
       kEnds},
      {"nothing written at others' reductions",
       [&] {
         return collective::Reduce(buffer(), nullptr, kElements, ncclFloat32, ncclSum, 0, comm_,
                                   stream());
       },
       ncclSuccess},
  });
  gpu::FreeHost(pinned);
}

TEST_F(ImpossibleCallTest, CountsOfAllRanksTogetherCannotWrapAround) {
  const auto part = kElements / kRanks;
  const std::string kUncounted = "more bytes than can be counted";

  ExpectAll({
      {"all elements", [&] { return Sum(buffer(), kMost); }, ncclInvalidArgument, kUncounted},
      {"2^63 elements", [&] { return Sum(buffer(), kMost / 2 + 1); }, ncclInvalidArgument,
       kUncounted},
      {"2^62 floats, 0 bytes if they wrapped", [&] { return Sum(buffer(), kMost / 4 + 1); },
       ncclInvalidArgument, kUncounted},
      {"2^62 bytes, of all ranks 0 if they wrapped",
       [&] { return Gather(kMost / 4 + 1, ncclUint8); }, ncclInvalidArgument, kUncounted},
      {"2^61 bytes of each rank", [&] { return Gather(kMost / 8 + 1, ncclUint8); },
       ncclInvalidArgument, kEnds},
      {"all parts of a gathering", [&] { return Gather(part, ncclFloat32); }, ncclSuccess},
      {"a gathering too large", [&] { return Gather(part + 1, ncclFloat32); }, ncclInvalidArgument,
       "the receive buffer has 1048576 bytes"},
      {"a scattering too large",
       [&] {
         return collective::ReduceScatter(buffer(), buffer(), part + 1, ncclFloat32, ncclSum, comm_,
                                          stream());
       },
       ncclInvalidArgument, "the send buffer"},
      {"an exchange too large",
       [&] {
         return collective::AllToAll(buffer(), buffer(), part + 1, ncclFloat32, comm_, stream());
       },
       ncclInvalidArgument, kEnds},
  });
}

TEST_F(ImpossibleCallTest, ABufferMaySpanMappings) {
  constexpr std::uint64_t kPiece = gpu::kGranuleBytes;
  constexpr std::size_t kPieceElements = kPiece / sizeof(float);
  std::uint64_t begin = 0;
  gpu::PhysicalHandle handle = 0;
  ASSERT_EQ(gpu::ReserveAddress(4 * kPiece, 0, 0, &begin), gpu::Status::kSuccess);
  ASSERT_EQ(gpu::CreatePhysical({}, kPiece, &handle), gpu::Status::kSuccess);
  gpu::Map(begin, kPiece, 0, handle);
  gpu::Map(begin + kPiece, kPiece, 0, handle);
  auto* const segment = reinterpret_cast<float*>(begin);

  EXPECT_EQ(Sum(segment, 2 * kPieceElements), ncclSuccess);
  EXPECT_EQ(Sum(segment, 2 * kPieceElements + 1), ncclInvalidArgument);

  gpu::Unmap(begin, 2 * kPiece);
  gpu::ReleasePhysical(handle);
  gpu::FreeAddress(begin, 4 * kPiece);
}

TEST_F(ImpossibleCallTest, ACollectiveOfNoElementsMeetsNobody) {
  const auto collectives = [&](ncclComm_t comm) {
    return std::vector<ncclResult_t>{
        collective::AllReduce(nullptr, nullptr, 0, ncclFloat32, ncclSum, comm, stream()),
        collective::AllGather(nullptr, nullptr, 0, ncclFloat32, comm, stream()),
        collective::ReduceScatter(nullptr, nullptr, 0, ncclFloat32, ncclSum, comm, stream()),
        collective::Broadcast(nullptr, nullptr, 0, ncclFloat32, 3, comm, stream()),
        collective::Reduce(nullptr, nullptr, 0, ncclFloat32, ncclSum, 3, comm, stream()),
        collective::AllToAll(nullptr, nullptr, 0, ncclFloat32, comm, stream()),
        collective::Gather(nullptr, nullptr, 0, ncclFloat32, 3, comm, stream()),
        collective::Scatter(nullptr, nullptr, 0, ncclFloat32, 3, comm, stream()),
    };
  };

  EXPECT_THAT(collectives(comm_), ::testing::Each(ncclSuccess));
  group::Start();
  EXPECT_THAT(collectives(comm_), ::testing::Each(ncclSuccess));
  EXPECT_EQ(group::End(), ncclSuccess);

  // The agent hears nothing: no time of the stream, no turn, no wait for the others.
  EXPECT_THAT(agent_.Kinds(), ::testing::IsEmpty());
  EXPECT_EQ(Sum(buffer(), 16), ncclSuccess);
  const auto records = agent_.RecordsOf(RecordKind::kCommunication);
  ASSERT_EQ(records.size(), 1u);
  ring::CommunicationOp op;
  std::memcpy(&op, records[0].bytes.data() + sizeof(ring::CommunicationRecord), sizeof(op));
  EXPECT_EQ(op.sequence, 0u);
  // Its arguments are checked all the same.
  EXPECT_THAT(collectives(nullptr), ::testing::Each(ncclInvalidArgument));
  EXPECT_EQ(collective::Broadcast(nullptr, nullptr, 0, ncclFloat32, 4, comm_, stream()),
            ncclInvalidArgument);
}

TEST_F(ImpossibleCallTest, ASendOfNoElementsIsATaskLikeAnyOther) {
  EXPECT_EQ(collective::Send(nullptr, 0, ncclFloat32, 2, comm_, stream()), ncclSuccess);
  EXPECT_EQ(collective::Receive(nullptr, 0, ncclFloat32, 2, comm_, stream()), ncclSuccess);

  EXPECT_EQ(Issued(), 2u);
}

TEST_F(ImpossibleCallTest, AFailureSpoilsItsGroup) {
  ASSERT_EQ(group::Start(), ncclSuccess);
  ASSERT_EQ(group::Start(), ncclSuccess);
  EXPECT_EQ(Sum(buffer(), 16), ncclSuccess);
  EXPECT_EQ(collective::Send(buffer(), 16, ncclFloat32, 9, comm_, stream()), ncclInvalidArgument);
  EXPECT_EQ(Sum(buffer(), 16), ncclSuccess);
  EXPECT_EQ(group::End(), ncclSuccess);
  EXPECT_EQ(group::End(), ncclInvalidArgument);
  EXPECT_EQ(Issued(), 0u);

  ASSERT_EQ(group::Start(), ncclSuccess);
  ncclUniqueId id{};
  ncclComm_t good = nullptr;
  ncclComm_t bad = nullptr;
  EXPECT_EQ(communicator::InitRank(&good, 2, id, 0), ncclSuccess);
  EXPECT_EQ(communicator::InitRank(&bad, 2, id, 2), ncclInvalidArgument);
  EXPECT_EQ(group::End(), ncclInvalidArgument);
  EXPECT_EQ(good, nullptr);
  EXPECT_THAT(agent_.RecordsOf(RecordKind::kCommunicatorInit), ::testing::IsEmpty());

  // The next group is a new one.
  ASSERT_EQ(group::Start(), ncclSuccess);
  EXPECT_EQ(Sum(buffer(), 16), ncclSuccess);
  EXPECT_EQ(group::End(), ncclSuccess);
  EXPECT_EQ(Issued(), 1u);
}

TEST_F(ImpossibleCallTest, AReductionOfOnesOwnWorksOnItsType) {
  ncclRedOp_t scaled;
  float factor = 0.5f;
  ASSERT_EQ(
      collective::CreatePreMulSum(&scaled, &factor, ncclFloat32, ncclScalarHostImmediate, comm_),
      ncclSuccess);
  const auto reduce = [&](ncclDataType_t type) {
    return collective::AllReduce(buffer(), buffer(), 16, type, scaled, comm_, stream());
  };

  EXPECT_EQ(reduce(ncclFloat32), ncclSuccess);
  EXPECT_EQ(reduce(ncclFloat16), ncclInvalidArgument);
  EXPECT_EQ(collective::DestroyReduction(scaled, comm_), ncclSuccess);
  EXPECT_EQ(reduce(ncclFloat32), ncclInvalidArgument);
  EXPECT_EQ(collective::DestroyReduction(ncclSum, comm_), ncclInvalidArgument);
}

TEST_F(ImpossibleCallTest, AllocationsThatCannotBeAreRefused) {
  void* memory = buffer();
  EXPECT_EQ(registration::MemAlloc(nullptr, 1), ncclUnhandledCudaError);
  EXPECT_EQ(registration::MemAlloc(&memory, kMost), ncclUnhandledCudaError);
  EXPECT_EQ(registration::MemAlloc(&memory, kMost / 2), ncclUnhandledCudaError);
  EXPECT_EQ(registration::MemAlloc(&memory, 0), ncclSuccess);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(registration::MemFree(nullptr), ncclSuccess);
}

}  // namespace
}  // namespace eidolon::shim::nccl
