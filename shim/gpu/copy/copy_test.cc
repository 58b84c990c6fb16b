#include "shim/gpu/copy/copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "services/contract/ring/unknown_source.h"
#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/work.h"
#include "shim/core/fake_agent.h"
#include "shim/gpu/allocation/host_memory.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/memory/memory.h"
#include "shim/gpu/stream/stream.h"
#include "shim/value/store.h"

namespace eidolon::shim::gpu {
namespace {

using ring::RecordKind;
using ::testing::Contains;
using ::testing::Not;

class CopyTest : public ::testing::Test {
 protected:
  CopyTest() : agent_(core::FakeAgent::Start()) {
    EXPECT_EQ(SetDevice(0), Status::kSuccess);
    EXPECT_EQ(Allocate(0, 4 << 20, &address_), Status::kSuccess);
    EXPECT_EQ(Allocate(1, 4 << 20, &peer_), Status::kSuccess);
    EXPECT_EQ(AllocateHost(4096, 0, &pinned_), Status::kSuccess);
    value::ProcessStore().Forget(address_, 4 << 20);
    value::ProcessStore().Forget(peer_, 4 << 20);
    agent_.Reset();
  }
  ~CopyTest() override {
    Free(address_);
    Free(peer_);
    FreeHost(pinned_);
  }

  void* At(std::uint64_t address) { return reinterpret_cast<void*>(address); }
  workload::Copy LastWork() {
    const auto launches = agent_.RecordsOf(RecordKind::kLaunch);
    const auto bytes = agent_.Work(launches.back().As<ring::LaunchRecord>().work);
    workload::Copy work{};
    std::memcpy(&work, bytes.data(), sizeof(work));
    return work;
  }

  core::FakeAgent& agent_;
  std::uint64_t address_ = 0;
  std::uint64_t peer_ = 0;
  void* pinned_ = nullptr;
};

TEST_F(CopyTest, BytesGoThereAndBack) {
  char text[] = "emulated";
  char back[sizeof(text)] = {};
  EXPECT_EQ(Copy(At(address_ + 3), text, sizeof(text), CopyMode::kBlocking, nullptr),
            Status::kSuccess);
  EXPECT_EQ(Copy(At(address_ + 4096), At(address_ + 3), sizeof(text), CopyMode::kAsync, nullptr),
            Status::kSuccess);
  EXPECT_EQ(Copy(back, At(address_ + 4096), sizeof(text), CopyMode::kBlocking, nullptr),
            Status::kSuccess);

  EXPECT_STREQ(back, text);
  EXPECT_THAT(agent_.Kinds(), Not(Contains(RecordKind::kUnknownRead)));
}

TEST_F(CopyTest, TheDefinitionSaysWhatIsCopied) {
  char text[64];
  Copy(At(address_), text, sizeof(text), CopyMode::kAsync, nullptr);
  EXPECT_EQ(LastWork().kind, workload::CopyKind::kHostToDevice);
  EXPECT_EQ(LastWork().pinned, 0u);
  EXPECT_EQ(LastWork().row_bytes, 64u);
  Copy(pinned_, At(address_), 64, CopyMode::kAsync, nullptr);
  EXPECT_EQ(LastWork().kind, workload::CopyKind::kDeviceToHost);
  EXPECT_EQ(LastWork().pinned, 1u);
  Copy(At(peer_), At(address_), 64, CopyMode::kAsync, nullptr);
  EXPECT_EQ(LastWork().kind, workload::CopyKind::kPeer);
  EXPECT_EQ(LastWork().peer_device, 1);
}

TEST_F(CopyTest, CopiesToPageableMemoryWaitAndOthersDoNot) {
  char text[64];
  Copy(pinned_, At(address_), 64, CopyMode::kAsync, nullptr);
  Copy(At(address_), text, 64, CopyMode::kAsync, nullptr);
  Copy(At(address_ + 64), At(address_), 64, CopyMode::kBlocking, nullptr);
  EXPECT_THAT(agent_.Kinds(), Not(Contains(RecordKind::kSynchronizeStream)));

  Copy(text, At(address_), 64, CopyMode::kAsync, nullptr);
  EXPECT_THAT(agent_.Kinds(), Contains(RecordKind::kSynchronizeStream));
}

TEST_F(CopyTest, UnknownBytesAreReportedOnce) {
  // On the stack: the thread sanitizer's heap lies where the emulated memory is.
  std::array<char, 1000> back;
  back.fill('x');
  Copy(back.data(), At(address_), back.size(), CopyMode::kBlocking, nullptr);

  EXPECT_EQ(back[999], 0);
  const auto records = agent_.RecordsOf(RecordKind::kUnknownRead);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].As<ring::MarkRecord>().id, 1000u);
}

TEST_F(CopyTest, ReadsOfUnknownBytesNameWhoWroteThem) {
  const value::Author author = value::InternAuthor("the_kernel_of_this_test");
  value::ProcessStore().authors().Note(
      {.author = author, .pointer = 1, .begin = address_ + (1 << 20)});
  float value = 1;
  for (int i = 0; i < 3; ++i) {
    Copy(&value, At(address_ + (1 << 20)), sizeof(value), CopyMode::kBlocking, nullptr);
  }

  const auto sources = agent_.RecordsOf(RecordKind::kUnknownSource);
  ASSERT_EQ(sources.size(), 1u);
  const auto source = sources[0].As<ring::MarkRecord>();
  const ring::UnknownSource said = ring::SplitUnknownSource(
      {reinterpret_cast<const char*>(sources[0].bytes.data()) + sizeof(source), source.name_bytes});
  EXPECT_EQ(said.writer, "the_kernel_of_this_test");
  EXPECT_EQ(said.pointer, 1u);
  EXPECT_EQ(said.given, "zero");
  EXPECT_EQ(said.line, "");
  const auto reads = agent_.RecordsOf(RecordKind::kUnknownRead);
  ASSERT_EQ(reads.size(), 3u);
  for (const auto& read : reads) EXPECT_EQ(read.As<ring::MarkRecord>().reserved, source.id);
}

TEST_F(CopyTest, PitchedCopiesMoveOnlyTheRows) {
  const char rows[] = "ab..cd..ef..";
  Copy({.target = At(address_),
        .source = rows,
        .shape = {.row_bytes = 2, .rows = 3, .target_pitch = 16, .source_pitch = 4}},
       nullptr);
  char back[7] = {};
  Copy({.target = back,
        .source = At(address_),
        .shape = {.row_bytes = 2, .rows = 3, .target_pitch = 2, .source_pitch = 16}},
       nullptr);

  EXPECT_STREQ(back, "abcdef");
  EXPECT_EQ(LastWork().row_bytes, 2u);
  EXPECT_EQ(LastWork().bytes, 6u);
}

TEST_F(CopyTest, FillsSetElements) {
  EXPECT_EQ(Fill({.target = At(address_), .value = 0x42434445, .element_bytes = 4, .elements = 2},
                 nullptr),
            Status::kSuccess);
  char back[9] = {};
  Copy(back, At(address_), 8, CopyMode::kBlocking, nullptr);

  EXPECT_STREQ(back, "EDCBEDCB");
}

TEST_F(CopyTest, BadAddressesAndDirectionsAreRefused) {
  char text[8];
  EXPECT_EQ(Copy(At(kArenaEnd - 4096), text, 8, CopyMode::kAsync, nullptr), Status::kInvalidValue);
  EXPECT_EQ(Copy({.target = text,
                  .source = At(address_),
                  .shape = {.row_bytes = 8},
                  .direction = CopyDirection::kHostToDevice},
                 nullptr),
            Status::kInvalidValue);
  EXPECT_EQ(Fill({.target = text, .elements = 8}, nullptr), Status::kInvalidValue);
  EXPECT_EQ(Copy(nullptr, nullptr, 0, CopyMode::kAsync, nullptr), Status::kSuccess);
}

TEST_F(CopyTest, PageLockedMemoryStandsForEitherEnd) {
  auto* locked = static_cast<char*>(pinned_);
  std::memcpy(locked, "locked", 7);
  char text[8] = "paged";
  const auto copy = [&](void* target, const void* source, CopyDirection direction) {
    return Copy(
        {.target = target, .source = source, .shape = {.row_bytes = 7}, .direction = direction},
        nullptr);
  };

  EXPECT_EQ(copy(text, locked, CopyDirection::kDeviceToHost), Status::kSuccess);
  EXPECT_STREQ(text, "locked");
  EXPECT_EQ(copy(locked + 8, text, CopyDirection::kHostToDevice), Status::kSuccess);
  EXPECT_STREQ(locked + 8, "locked");
  EXPECT_EQ(LastWork().kind, workload::CopyKind::kHostToHost);
  EXPECT_EQ(copy(locked, text, CopyDirection::kDeviceToHost), Status::kInvalidValue);
}

TEST_F(CopyTest, ManagedMemoryHoldsItsOwnBytes) {
  void* managed = nullptr;
  ASSERT_EQ(AllocateManaged(64, 1, &managed), Status::kSuccess);
  Fill({.target = managed, .value = 'm', .elements = 3}, nullptr);
  EXPECT_STREQ(static_cast<char*>(managed), "mmm");
  Copy(At(address_), managed, 4, CopyMode::kAsync, nullptr);
  EXPECT_EQ(LastWork().kind, workload::CopyKind::kDeviceToDevice);
  EXPECT_EQ(FreeManaged(managed), Status::kSuccess);
}

TEST_F(CopyTest, APrefetchCostsACopyOfManagedMemory) {
  void* managed = nullptr;
  ASSERT_EQ(AllocateManaged(8192, 1, &managed), Status::kSuccess);
  EXPECT_EQ(Prefetch(managed, 8192, 0, nullptr), Status::kSuccess);
  EXPECT_EQ(LastWork().kind, workload::CopyKind::kHostToDevice);
  EXPECT_EQ(Prefetch(managed, 8192, -1, nullptr), Status::kSuccess);
  EXPECT_EQ(LastWork().kind, workload::CopyKind::kDeviceToHost);
  EXPECT_EQ(LastWork().bytes, 8192u);
  EXPECT_EQ(Prefetch(managed, 8193, 0, nullptr), Status::kInvalidValue);
  EXPECT_EQ(Prefetch(At(address_), 8, 0, nullptr), Status::kInvalidValue);
  FreeManaged(managed);
}

TEST_F(CopyTest, RegisteringTwiceIsRefused) {
  std::vector<char> own(8192);
  EXPECT_EQ(RegisterHost(own.data(), own.size(), 0), Status::kSuccess);
  EXPECT_EQ(RegisterHost(own.data() + 100, 10, 0), Status::kHostMemoryAlreadyRegistered);
  EXPECT_EQ(UnregisterHost(own.data()), Status::kSuccess);
  EXPECT_EQ(UnregisterHost(own.data()), Status::kHostMemoryNotRegistered);
}

}  // namespace
}  // namespace eidolon::shim::gpu
