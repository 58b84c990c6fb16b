#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "shim/core/rank_clock.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/memory/memory.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/submit.h"
#include "shim/value/pending.h"
#include "shim/vendor/library/submitted_work.h"
#include "shim/vendor/nccl/collective.h"
#include "shim/vendor/nccl/communicator.h"
#include "shim/vendor/nccl/group.h"
#include "shim/vendor/nccl/membership.h"
#include "shim/vendor/nccl/registration.h"

namespace eidolon::shim::nccl {
namespace {

using ring::CommunicationKind;
using ring::RecordKind;

class NcclTest : public ::testing::Test {
 protected:
  NcclTest() : agent_(library::StartAgent()) {
    ncclUniqueId id;
    communicator::GetUniqueId(&id);
    EXPECT_EQ(communicator::InitRank(&comm_, 4, id, 1), ncclSuccess);
    gpu::CreateStream(1, 0, &stream_);
    EXPECT_EQ(gpu::Allocate(0, kBuffers * kBufferBytes, &buffers_), gpu::Status::kSuccess);
    agent_.Reset();
  }
  ~NcclTest() override {
    value::ProcessPending().Drain();
    communicator::Destroy(comm_);
    gpu::DestroyStream(stream_);
    gpu::Free(buffers_);
  }

  cudaStream_t stream() const { return static_cast<cudaStream_t>(stream_); }
  static constexpr std::uint64_t kBuffers = 6;
  static constexpr std::uint64_t kBufferBytes = 16 << 20;
  float* Buffer(std::uint64_t i) const {
    return reinterpret_cast<float*>(buffers_ + i * kBufferBytes);
  }
  static void Know(const void* address, std::size_t bytes) {
    value::ProcessPending().Fill(reinterpret_cast<std::uint64_t>(address), 7, 1, bytes);
  }
  static bool IsKnown(const void* address, std::size_t bytes) {
    return value::ProcessPending().IsKnown(reinterpret_cast<std::uint64_t>(address), bytes);
  }
  static ncclComm_t Join() {
    ncclUniqueId id;
    communicator::GetUniqueId(&id);
    ncclComm_t comm = nullptr;
    EXPECT_EQ(communicator::InitRank(&comm, 2, id, 1), ncclSuccess);
    return comm;
  }
  struct Issued {
    ring::CommunicationRecord record;
    std::vector<ring::CommunicationOp> ops;
  };
  std::vector<Issued> Communications() {
    std::vector<Issued> all;
    for (const auto& record : agent_.RecordsOf(RecordKind::kCommunication)) {
      Issued issued{record.As<ring::CommunicationRecord>(), {}};
      issued.ops.resize(issued.record.op_count);
      std::memcpy(issued.ops.data(), record.bytes.data() + sizeof(issued.record),
                  issued.ops.size() * sizeof(ring::CommunicationOp));
      all.push_back(issued);
    }
    return all;
  }

  core::FakeAgent& agent_;
  ncclComm_t comm_ = nullptr;
  gpu::StreamHandle stream_ = nullptr;
  std::uint64_t buffers_ = 0;
};

TEST_F(NcclTest, UniqueIdsDifferFromCallToCall) {
  ncclUniqueId a, b;
  ASSERT_EQ(communicator::GetUniqueId(&a), ncclSuccess);
  ASSERT_EQ(communicator::GetUniqueId(&b), ncclSuccess);

  EXPECT_NE(std::memcmp(&a, &b, sizeof(a)), 0);
}

TEST_F(NcclTest, JoiningTellsNameRankAndSize) {
  ncclUniqueId id{{'x'}};
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.commName = "dp_group";
  ncclComm_t comm = nullptr;

  ASSERT_EQ(communicator::InitRankConfig(&comm, 8, id, 5, &config), ncclSuccess);

  const auto records = agent_.RecordsOf(RecordKind::kCommunicatorInit);
  ASSERT_EQ(records.size(), 1u);
  const auto& record = records[0].As<ring::CommunicatorInit>();
  EXPECT_STREQ(record.name, "dp_group");
  EXPECT_EQ(record.size, 8);
  EXPECT_EQ(record.rank, 5);
  EXPECT_EQ(record.unique_id[0], 'x');
  int size = 0, rank = 0, device = -1;
  EXPECT_EQ(communicator::Count(comm, &size), ncclSuccess);
  EXPECT_EQ(communicator::UserRank(comm, &rank), ncclSuccess);
  EXPECT_EQ(communicator::CuDevice(comm, &device), ncclSuccess);
  EXPECT_EQ(size, 8);
  EXPECT_EQ(rank, 5);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(communicator::Destroy(comm), ncclSuccess);
}

// PyTorch's watchdog thread makes some of them, as many as real time lets it.
TEST_F(NcclTest, EventQueriesCostNothingOnceThereIsACommunicator) {
  const base::SimTime before = core::Now();
  core::ChargeCall("cudaEventQuery", ring::CallClass::kEventQuery);
  EXPECT_EQ(core::Now(), before);

  core::ChargeCall("cudaStreamQuery", ring::CallClass::kSynchronize);
  EXPECT_GT(core::Now(), before);
}

TEST_F(NcclTest, CollectivesAreNumberedAndSized) {
  ASSERT_EQ(
      collective::AllReduce(Buffer(0), Buffer(0), 1 << 20, ncclFloat32, ncclSum, comm_, stream()),
      ncclSuccess);
  ASSERT_EQ(collective::AllGather(Buffer(0), Buffer(1), 1 << 20, ncclBfloat16, comm_, stream()),
            ncclSuccess);
  ASSERT_EQ(collective::ReduceScatter(Buffer(0), Buffer(1), 1 << 20, ncclFloat32, ncclAvg, comm_,
                                      stream()),
            ncclSuccess);

  const auto issued = Communications();
  ASSERT_EQ(issued.size(), 3u);
  EXPECT_EQ(issued[0].ops[0].kind, CommunicationKind::kAllReduce);
  EXPECT_EQ(issued[0].ops[0].bytes, 4u << 20);
  EXPECT_EQ(issued[0].ops[0].in_place, 1u);
  EXPECT_EQ(issued[1].ops[0].bytes, 8u << 20);
  EXPECT_EQ(issued[2].ops[0].bytes, 16u << 20);
  EXPECT_EQ(issued[2].ops[0].sequence, 2u);
}

TEST_F(NcclTest, AGroupIsOneRecordForEachCommunicatorAndStream) {
  ASSERT_EQ(group::Start(), ncclSuccess);
  ASSERT_EQ(group::Start(), ncclSuccess);
  ASSERT_EQ(collective::Send(Buffer(0), 64, ncclFloat32, 2, comm_, stream()), ncclSuccess);
  ASSERT_EQ(collective::Receive(Buffer(1), 64, ncclFloat32, 0, comm_, stream()), ncclSuccess);
  ASSERT_EQ(group::End(), ncclSuccess);
  EXPECT_TRUE(Communications().empty());
  ASSERT_EQ(collective::Send(Buffer(0), 64, ncclFloat32, 2, comm_, nullptr), ncclSuccess);

  ASSERT_EQ(group::End(), ncclSuccess);

  const auto issued = Communications();
  ASSERT_EQ(issued.size(), 2u);
  EXPECT_EQ(issued[0].record.op_count, 2u);
  EXPECT_EQ(issued[1].record.op_count, 1u);
  EXPECT_NE(issued[0].record.group, 0u);
  EXPECT_EQ(issued[0].record.group, issued[1].record.group);
  // Sends are numbered by partner and direction.
  EXPECT_EQ(issued[0].ops[0].sequence, 0u);
  EXPECT_EQ(issued[0].ops[1].sequence, 0u);
  EXPECT_EQ(issued[1].ops[0].sequence, 1u);
  EXPECT_EQ(group::End(), ncclInvalidUsage);
}

TEST_F(NcclTest, AGroupDoesNothingOnACommunicatorThatEndsMeanwhile) {
  ncclComm_t second = Join();
  ncclComm_t third = Join();
  ASSERT_EQ(group::Start(), ncclSuccess);
  ASSERT_EQ(collective::Send(Buffer(0), 64, ncclFloat32, 0, second, stream()), ncclSuccess);
  ASSERT_EQ(collective::Send(Buffer(0), 64, ncclFloat32, 0, third, stream()), ncclSuccess);
  // The same thread destroys one, a watchdog revokes the other.
  ASSERT_EQ(communicator::Destroy(second), ncclSuccess);
  std::thread([&] { communicator::Revoke(third, 0); }).join();

  EXPECT_EQ(group::End(), ncclInvalidUsage);

  EXPECT_TRUE(Communications().empty());
  EXPECT_EQ(communicator::Destroy(third), ncclSuccess);
}

TEST_F(NcclTest, SmallKnownInputsTravelAndResultsComeBack) {
  Know(Buffer(0), 64);
  agent_.AnswerWith([](const core::FakeAgent::Record& record) {
    auto reply = core::FakeAgent::DefaultAnswer(record);
    if (record.kind() == RecordKind::kCollectiveValues) {
      reply.status = ring::ReplyStatus::kOk;
      reply.payload.assign(64, std::byte{9});
    }
    return reply;
  });

  ASSERT_EQ(collective::AllReduce(Buffer(0), Buffer(1), 16, ncclFloat32, ncclSum, comm_, stream()),
            ncclSuccess);

  EXPECT_EQ(Communications()[0].ops[0].payload_bytes, 64u);
  ASSERT_TRUE(IsKnown(Buffer(1), 64));
  unsigned char first = 0;
  value::ProcessStore().Read(reinterpret_cast<std::uint64_t>(Buffer(1)), &first, 1);
  EXPECT_EQ(first, 9);
}

TEST_F(NcclTest, APickledObjectTravelsWithItsPadding) {
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(Buffer(2));
  value::ProcessStore().Write(address, "\x80\x04\x4b\x01.", 5);  // The number 1.

  ASSERT_EQ(collective::AllGather(Buffer(2), Buffer(3), 16, ncclUint8, comm_, stream()),
            ncclSuccess);
  ASSERT_EQ(collective::AllGather(Buffer(2), Buffer(3), 4, ncclFloat32, comm_, stream()),
            ncclSuccess);

  EXPECT_EQ(Communications()[0].ops[0].payload_bytes, 16u);
  EXPECT_EQ(Communications()[1].ops[0].payload_bytes, 0u);
}

TEST_F(NcclTest, ThePaddingOfAnObjectStaysUnknown) {
  agent_.AnswerWith([](const core::FakeAgent::Record& record) {
    auto reply = core::FakeAgent::DefaultAnswer(record);
    if (record.kind() == RecordKind::kCollectiveValues) {
      reply.status = ring::ReplyStatus::kOk;
      reply.payload.assign(16, std::byte{0});
      const unsigned char object[] = {0x80, 4, 0x4b, 1, '.'};
      std::memcpy(reply.payload.data(), object, sizeof(object));
    }
    return reply;
  });

  ASSERT_EQ(collective::Receive(Buffer(4), 16, ncclUint8, 3, comm_, stream()), ncclSuccess);

  EXPECT_TRUE(IsKnown(Buffer(4), 5));
  EXPECT_FALSE(IsKnown(reinterpret_cast<const char*>(Buffer(4)) + 5, 1));
}

TEST_F(NcclTest, ResultsOfUnknownInputsAreUnknown) {
  Know(Buffer(3), 64);

  ASSERT_EQ(collective::AllReduce(Buffer(2), Buffer(3), 16, ncclFloat32, ncclSum, comm_, stream()),
            ncclSuccess);

  EXPECT_EQ(Communications()[0].ops[0].payload_bytes, 0u);
  EXPECT_FALSE(IsKnown(Buffer(3), 64));
}

TEST_F(NcclTest, AReceiveAsksForItsOwnBytes) {
  ASSERT_EQ(collective::Receive(Buffer(1), 4, ncclInt64, 3, comm_, stream()), ncclSuccess);
  ASSERT_EQ(collective::Receive(Buffer(1), 4, ncclInt64, 3, comm_, stream()), ncclSuccess);
  EXPECT_FALSE(IsKnown(Buffer(1), 32));

  const auto asked = agent_.RecordsOf(RecordKind::kCollectiveValues);
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked.back().As<ring::WaitRecord>().id2, ring::ReceiveValues(3, 1));
}

TEST_F(NcclTest, LongReceivesOfBytesAreAskedForUntilTheBudgetIsSpent) {
  // Keys and values that go around a ring: each is passed on, and nobody reads them.
  constexpr std::size_t kBytes = 4 << 20;
  constexpr std::size_t kBudgeted = 16;  // Of 64 MiB.
  for (std::size_t i = 0; i < kBudgeted + 4; ++i) {
    ASSERT_EQ(collective::Receive(Buffer(1), kBytes, ncclUint8, 3, comm_, stream()), ncclSuccess);
    IsKnown(Buffer(1), 64);
  }
  EXPECT_EQ(agent_.RecordsOf(RecordKind::kCollectiveValues).size(), kBudgeted);

  // Short ones are free.
  ASSERT_EQ(collective::Receive(Buffer(1), 64 << 10, ncclUint8, 3, comm_, stream()), ncclSuccess);
  IsKnown(Buffer(1), 64);
  EXPECT_EQ(agent_.RecordsOf(RecordKind::kCollectiveValues).size(), kBudgeted + 1);
}

TEST_F(NcclTest, ARootKnowsWhatItBroadcasts) {
  Know(Buffer(0), 32);
  ASSERT_EQ(collective::Broadcast(Buffer(0), Buffer(4), 4, ncclInt64, 1, comm_, stream()),
            ncclSuccess);

  EXPECT_TRUE(IsKnown(Buffer(4), 32));
}

TEST_F(NcclTest, SplittingAnswersRankAndSize) {
  agent_.AnswerWith([](const core::FakeAgent::Record& record) {
    auto reply = core::FakeAgent::DefaultAnswer(record);
    if (record.kind() == RecordKind::kCommunicatorSplit) reply.extra = 1ull << 32 | 2;
    return reply;
  });
  ncclComm_t child = nullptr;

  ASSERT_EQ(communicator::Split(comm_, 3, 1, &child, nullptr), ncclSuccess);

  int size = 0, rank = 0;
  communicator::Count(child, &size);
  communicator::UserRank(child, &rank);
  EXPECT_EQ(size, 2);
  EXPECT_EQ(rank, 1);
  const auto records = agent_.RecordsOf(RecordKind::kCommunicatorSplit);
  EXPECT_EQ(records[0].As<ring::CommunicatorSplit>().color, 3);
  communicator::Destroy(child);

  ASSERT_EQ(communicator::Split(comm_, NCCL_SPLIT_NOCOLOR, 0, &child, nullptr), ncclSuccess);
  EXPECT_EQ(child, nullptr);
}

TEST_F(NcclTest, ShrinkingMeetsUnderAnAgreedName) {
  int excluded[] = {0};
  ncclComm_t child = nullptr;

  ASSERT_EQ(communicator::Shrink(comm_, excluded, 1, &child, nullptr, 0), ncclSuccess);

  const auto records = agent_.RecordsOf(RecordKind::kCommunicatorInit);
  const auto& record = records[0].As<ring::CommunicatorInit>();
  EXPECT_EQ(record.size, 3);
  EXPECT_EQ(record.rank, 0);
  communicator::Destroy(child);
}

TEST_F(NcclTest, AllGpusOfAProcessJoinTogether) {
  // Nobody is answered before both have asked.
  ncclComm_t comms[2] = {};
  ASSERT_EQ(communicator::InitAll(comms, 2, nullptr), ncclSuccess);

  EXPECT_EQ(agent_.RecordsOf(RecordKind::kCommunicatorInit).size(), 2u);
  for (ncclComm_t comm : comms) communicator::Destroy(comm);
}

TEST_F(NcclTest, AGroupOverSeveralGpusTakesEachOnesDefaultStream) {
  ncclComm_t comms[2] = {};
  ASSERT_EQ(communicator::InitAll(comms, 2, nullptr), ncclSuccess);
  const int before = gpu::CurrentDevice();

  ASSERT_EQ(group::Start(), ncclSuccess);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(
        collective::AllReduce(Buffer(i), Buffer(i), 64, ncclFloat32, ncclSum, comms[i], nullptr),
        ncclSuccess);
  }
  ASSERT_EQ(group::End(), ncclSuccess);

  const auto issued = Communications();
  ASSERT_EQ(issued.size(), 2u);
  EXPECT_EQ(issued[0].record.header.device, 0u);
  EXPECT_EQ(issued[1].record.header.device, 1u);
  EXPECT_EQ(gpu::CurrentDevice(), before);
  for (ncclComm_t comm : comms) communicator::Destroy(comm);
}

TEST_F(NcclTest, AFailedMeetingSaysWhy) {
  agent_.AnswerWith([](const core::FakeAgent::Record& record) {
    auto reply = core::FakeAgent::DefaultAnswer(record);
    if (record.kind() == RecordKind::kCommunicatorInit) {
      const char sentence[] = "rank 2 gave size 8, rank 1 gave size 4";
      reply.status = ring::ReplyStatus::kCollectiveError;
      const auto* bytes = reinterpret_cast<const std::byte*>(sentence);
      reply.payload.assign(bytes, bytes + sizeof(sentence));
    }
    return reply;
  });
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;

  EXPECT_EQ(communicator::InitRank(&comm, 4, id, 1), ncclInvalidUsage);

  EXPECT_STREQ(communicator::GetLastError(nullptr), "rank 2 gave size 8, rank 1 gave size 4");
  EXPECT_EQ(comm, nullptr);
}

TEST_F(NcclTest, BuffersAreBookedAtFirstUseAndGivenBack) {
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;
  ASSERT_EQ(communicator::InitRank(&comm, 4, id, 0), ncclSuccess);
  const auto before = gpu::GetMemoryInfo(0).free;

  collective::AllReduce(Buffer(0), Buffer(0), 1 << 20, ncclFloat32, ncclSum, comm, stream());
  const auto during = gpu::GetMemoryInfo(0).free;
  std::uint64_t told = 0;
  communicator::MemStats(comm, ncclStatGpuMemTotal, &told);
  communicator::Destroy(comm);

  EXPECT_EQ(before - during, told);
  EXPECT_GT(told, 100u << 20);
  EXPECT_EQ(gpu::GetMemoryInfo(0).free, before);
}

TEST_F(NcclTest, RefusesWhatNcclRefuses) {
  const auto sum = [&](ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm) {
    return collective::AllReduce(Buffer(0), Buffer(0), 8, type, op, comm, stream());
  };
  EXPECT_EQ(sum(ncclFloat32, ncclSum, nullptr), ncclInvalidArgument);
  EXPECT_EQ(sum(static_cast<ncclDataType_t>(99), ncclSum, comm_), ncclInvalidArgument);
  EXPECT_EQ(sum(ncclFloat32, static_cast<ncclRedOp_t>(77), comm_), ncclInvalidArgument);
  EXPECT_EQ(collective::Send(Buffer(0), 8, ncclFloat32, 4, comm_, stream()), ncclInvalidArgument);
  EXPECT_THAT(communicator::GetLastError(comm_), ::testing::HasSubstr("4 ranks"));
  EXPECT_TRUE(Communications().empty());
}

TEST_F(NcclTest, ScaledSumsAreTimedAsSums) {
  ncclRedOp_t scaled;
  float factor = 0.25f;
  ASSERT_EQ(
      collective::CreatePreMulSum(&scaled, &factor, ncclFloat32, ncclScalarHostImmediate, comm_),
      ncclSuccess);
  Know(Buffer(0), 64);

  ASSERT_EQ(collective::AllReduce(Buffer(0), Buffer(0), 16, ncclFloat32, scaled, comm_, stream()),
            ncclSuccess);

  EXPECT_EQ(Communications()[0].ops[0].reduction, static_cast<std::uint32_t>(ncclSum));
  EXPECT_EQ(Communications()[0].ops[0].payload_bytes, 0u);
  EXPECT_EQ(collective::DestroyReduction(scaled, comm_), ncclSuccess);
}

TEST_F(NcclTest, ARevokedCommunicatorTakesNoWork) {
  ASSERT_EQ(communicator::Revoke(comm_, 0), ncclSuccess);

  EXPECT_EQ(collective::AllReduce(Buffer(0), Buffer(0), 8, ncclFloat32, ncclSum, comm_, stream()),
            ncclInvalidUsage);
  EXPECT_EQ(agent_.RecordsOf(RecordKind::kCommunicatorDestroy).size(), 1u);
}

TEST_F(NcclTest, BuffersCanBeAllocatedAndRegistered) {
  void* memory = nullptr;
  void* handle = nullptr;
  ncclWindow_t window = nullptr;
  void* back = nullptr;
  ASSERT_EQ(registration::MemAlloc(&memory, 1000), ncclSuccess);
  EXPECT_EQ(registration::Register(comm_, memory, 1000, &handle), ncclSuccess);
  EXPECT_EQ(registration::WindowRegister(comm_, memory, 1000, &window, 0), ncclSuccess);
  EXPECT_EQ(registration::WindowGetUserPointer(comm_, window, &back), ncclSuccess);
  EXPECT_EQ(back, memory);
  EXPECT_EQ(registration::WindowDeregister(comm_, window), ncclSuccess);
  EXPECT_EQ(registration::Deregister(comm_, handle), ncclSuccess);
  EXPECT_EQ(registration::MemFree(memory), ncclSuccess);
}

}  // namespace
}  // namespace eidolon::shim::nccl
