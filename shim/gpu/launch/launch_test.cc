#include "shim/gpu/launch/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "services/base/hash.h"
#include "services/contract/ring/record.h"
#include "services/contract/ring/replay.h"
#include "services/contract/workload/pointer_tag.h"
#include "shim/core/fake_agent.h"
#include "shim/gpu/allocation/host_memory.h"
#include "shim/gpu/allocation/virtual_memory.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/memory/memory.h"
#include "shim/gpu/module/function.h"
#include "shim/gpu/module/sample.h"
#include "shim/gpu/stream/stream.h"
#include "shim/value/store.h"

namespace eidolon::shim::gpu {
namespace {

using core::FakeAgent;
using ring::RecordKind;

class LaunchTest : public testing::Test {
 protected:
  LaunchTest() : agent_(FakeAgent::Start()) {
    EXPECT_EQ(SetDevice(0), Status::kSuccess);
    EXPECT_EQ(CreateStream(1, 0, &stream_), Status::kSuccess);
    EXPECT_EQ(LoadImage(SampleFatBinary().data(), &library_), Status::kSuccess);
    EXPECT_EQ(library_->FindKernel("scale", &scale_), Status::kSuccess);
    EXPECT_EQ(library_->FindKernel("tile", &tile_), Status::kSuccess);
    EXPECT_EQ(Allocate(0, 4096, &memory_), Status::kSuccess);
    agent_.Reset();
  }
  ~LaunchTest() override {
    Free(memory_);
    DestroyStream(stream_);
    library_->Unload();
  }

  Status LaunchScale(std::uint64_t out, float factor, std::uint32_t count,
                     LaunchShape shape = {{4, 1, 1}, {128, 1, 1}}) {
    void* pointers[] = {&out, &factor, &count};
    return LaunchKernel(*scale_, shape, {.pointers = pointers}, stream_);
  }
  std::vector<std::uint32_t> LaunchedWorks() {
    std::vector<std::uint32_t> works;
    for (const auto& record : agent_.RecordsOf(RecordKind::kLaunch)) {
      works.push_back(record.As<ring::LaunchRecord>().work);
    }
    return works;
  }

  FakeAgent& agent_;
  StreamHandle stream_ = nullptr;
  Library* library_ = nullptr;
  Kernel* scale_ = nullptr;
  Kernel* tile_ = nullptr;
  std::uint64_t memory_ = 0;
};

// Returns what follows a definition, if anything does.
std::vector<std::byte> ContextAfter(const FakeAgent::Record& record) {
  const auto& define = record.As<ring::DefineWork>();
  const std::size_t end = (sizeof(define) + define.definition_bytes + 7) / 8 * 8;
  return {record.bytes.begin() + static_cast<std::ptrdiff_t>(end), record.bytes.end()};
}

TEST_F(LaunchTest, BringsWhatAReplayNeedsOnlyWhenItIsWanted) {
  const std::string modules = agent_.run_directory() + "/modules";
  std::filesystem::create_directory(modules);
  ASSERT_EQ(LaunchScale(memory_ + 8, 3.0F, 2001), Status::kSuccess);
  agent_.header().unknown_reads |= ring::kReplayKernels;
  ASSERT_EQ(LaunchScale(memory_ + 8, 3.0F, 2002), Status::kSuccess);
  ASSERT_EQ(LaunchScale(memory_ + 8, 3.0F, 2002), Status::kSuccess);
  agent_.header().unknown_reads &= ~ring::kReplayKernels;

  const auto defined = agent_.RecordsOf(RecordKind::kDefineWork);

  ASSERT_EQ(defined.size(), 2u);
  EXPECT_TRUE(ContextAfter(defined[0]).empty());
  const auto bytes = ContextAfter(defined[1]);
  struct {
    ring::ReplayContext head;
    std::uint64_t out;
    float factor;
    std::uint32_t count;
    ring::ReplayRange range;
  } context;
  ASSERT_EQ(bytes.size(), sizeof(context));
  std::memcpy(&context, bytes.data(), sizeof(context));
  EXPECT_EQ(context.head.magic, ring::kReplayMagic);
  EXPECT_EQ(context.head.parameter_bytes, 16u);
  ASSERT_EQ(context.head.range_count, 1u);
  EXPECT_EQ(context.out, memory_ + 8);
  EXPECT_EQ(context.count, 2002u);
  EXPECT_EQ(context.range.begin, memory_);
  EXPECT_EQ(context.range.bytes, 4096u);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(modules)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string code(std::istreambuf_iterator<char>(file), {});
    EXPECT_EQ(base::Hash128(code.data(), code.size()), library_->index().header().content);
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST_F(LaunchTest, AReplayGetsTheMappingsThatFollowThePointer) {
  std::uint64_t address = 0;
  ASSERT_EQ(ReserveAddress(4 * kGranuleBytes, 0, 0, &address), Status::kSuccess);
  PhysicalHandle pieces[3] = {};
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t at = address + (i < 2 ? i : 3) * kGranuleBytes;  // A gap before the last.
    ASSERT_EQ(CreatePhysical({}, kGranuleBytes, &pieces[i]), Status::kSuccess);
    ASSERT_EQ(Map(at, kGranuleBytes, 0, pieces[i]), Status::kSuccess);
  }
  agent_.header().unknown_reads |= ring::kReplayKernels;
  ASSERT_EQ(LaunchScale(address + 8, 3.0F, 2003), Status::kSuccess);
  agent_.header().unknown_reads &= ~ring::kReplayKernels;

  const auto bytes = ContextAfter(agent_.RecordsOf(RecordKind::kDefineWork).at(0));
  ring::ReplayContext head;
  std::vector<ring::ReplayRange> ranges(2);
  ASSERT_EQ(bytes.size(), sizeof(head) + 16 + 2 * sizeof(ring::ReplayRange));
  std::memcpy(&head, bytes.data(), sizeof(head));
  std::memcpy(ranges.data(), bytes.data() + sizeof(head) + 16, 2 * sizeof(ring::ReplayRange));
  EXPECT_EQ(head.range_count, 2u);
  EXPECT_EQ(ranges[0].begin, address);
  EXPECT_EQ(ranges[1].begin, address + kGranuleBytes);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(Unmap(address + (i < 2 ? i : 3) * kGranuleBytes, kGranuleBytes), Status::kSuccess);
    EXPECT_EQ(ReleasePhysical(pieces[i]), Status::kSuccess);
  }
  EXPECT_EQ(FreeAddress(address, 4 * kGranuleBytes), Status::kSuccess);
}

TEST_F(LaunchTest, DescribesTheKernelOnceAndBlanksPointers) {
  ASSERT_EQ(LaunchScale(memory_ + 8, 2.0F, 1001), Status::kSuccess);

  const auto works = LaunchedWorks();
  ASSERT_EQ(works.size(), 1u);
  const std::vector<std::byte> bytes = agent_.Work(works[0]);
  workload::Kernel work;
  std::memcpy(&work, bytes.data(), sizeof(work));
  EXPECT_EQ(work.header.kind, workload::WorkKind::kKernel);
  EXPECT_EQ(work.header.bytes, bytes.size());
  EXPECT_EQ(work.grid.x, 4u);
  EXPECT_EQ(work.block.x, 128u);
  EXPECT_GT(work.registers, 0u);
  EXPECT_EQ(work.blocks_per_multiprocessor, 16u);  // 2048 threads by 128.
  EXPECT_EQ(work.parameter_count, 3u);
  EXPECT_EQ(work.parameter_bytes, 16u);
  const auto* tail = reinterpret_cast<const char*>(bytes.data()) + sizeof(work);
  EXPECT_EQ(std::string(tail, work.name_bytes), "scale");
  tail += work.name_bytes;
  workload::ParameterSlot slots[3];
  std::memcpy(slots, tail, sizeof(slots));
  EXPECT_EQ(slots[2].offset, 12u);
  std::uint64_t pointer = 0;
  float factor = 0;
  std::uint32_t count = 0;
  std::memcpy(&pointer, tail + sizeof(slots), 8);
  std::memcpy(&factor, tail + sizeof(slots) + 8, 4);
  std::memcpy(&count, tail + sizeof(slots) + 12, 4);
  EXPECT_EQ(pointer, workload::kPointerTag | 8);
  EXPECT_EQ(factor, 2.0F);
  EXPECT_EQ(count, 1001u);
}

// A float and a count share a word, whose upper half then looks like that of an address.
TEST_F(LaunchTest, SizesThatLookLikeAddressesStay) {
  const auto arena = static_cast<int>(kArenaBegin >> 32);
  for (const int size : {8192, 11008, arena + 100}) {
    agent_.Reset();
    ASSERT_EQ(LaunchScale(memory_, 0.0F, size), Status::kSuccess);
    const std::vector<std::byte> bytes = agent_.Work(LaunchedWorks().at(0));
    std::uint32_t count = 0;
    std::memcpy(&count, bytes.data() + bytes.size() - 4, 4);
    EXPECT_EQ(count, static_cast<std::uint32_t>(size));
  }
}

TEST_F(LaunchTest, EqualWorkIsDefinedOnce) {
  ASSERT_EQ(LaunchScale(memory_, 3.0F, 77), Status::kSuccess);
  ASSERT_EQ(LaunchScale(memory_ + 1024, 3.0F, 77), Status::kSuccess);  // Another address.
  ASSERT_EQ(LaunchScale(memory_, 3.0F, 78), Status::kSuccess);         // Another size.
  ASSERT_EQ(LaunchScale(memory_, 3.0F, 77, {{5, 1, 1}, {128, 1, 1}}), Status::kSuccess);

  const auto works = LaunchedWorks();
  ASSERT_EQ(works.size(), 4u);
  EXPECT_EQ(works[0], works[1]);
  EXPECT_NE(works[0], works[2]);
  EXPECT_NE(works[0], works[3]);
  EXPECT_EQ(agent_.RecordsOf(RecordKind::kDefineWork).size(), 3u);
}

TEST_F(LaunchTest, AKernelThatIsGivenClustersIsOtherWork) {
  ASSERT_EQ(LaunchScale(memory_, 3.0F, 79), Status::kSuccess);
  for (const auto side :
       {FunctionAttribute::kRequiredClusterWidth, FunctionAttribute::kRequiredClusterHeight,
        FunctionAttribute::kRequiredClusterDepth}) {
    const int blocks = side == FunctionAttribute::kRequiredClusterWidth ? 2 : 1;
    ASSERT_EQ(SetAttribute(*scale_, side, blocks, 0), Status::kSuccess);
  }
  ASSERT_EQ(LaunchScale(memory_, 3.0F, 79), Status::kSuccess);

  const auto works = LaunchedWorks();
  ASSERT_EQ(works.size(), 2u);
  EXPECT_NE(works[0], works[1]);
  workload::Kernel work;
  std::memcpy(&work, agent_.Work(works[1]).data(), sizeof(work));
  EXPECT_EQ(work.cluster.x, 2u);
}

TEST_F(LaunchTest, PackedAndSeparateParametersAreTheSame) {
  std::byte pack[40] = {};
  std::uint64_t inner = memory_ + 16;
  std::memcpy(pack + 16, &inner, 8);
  std::uint8_t flag = 7;
  std::uint64_t out = memory_;
  void* pointers[] = {pack, &flag, &out};
  std::byte packed[56] = {};
  std::memcpy(packed, pack, 40);
  std::memcpy(packed + 40, &flag, 1);
  std::memcpy(packed + 48, &out, 8);
  const LaunchShape shape{{1, 2, 3}, {64, 2, 2}};

  EXPECT_EQ(LaunchKernel(*tile_, shape, {.pointers = pointers}, stream_), Status::kSuccess);
  EXPECT_EQ(LaunchKernel(*tile_, shape, {.packed = packed, .packed_bytes = 56}, stream_),
            Status::kSuccess);
  EXPECT_EQ(LaunchKernel(*tile_, shape, {.packed = packed, .packed_bytes = 48}, stream_),
            Status::kInvalidValue);

  const auto works = LaunchedWorks();
  ASSERT_EQ(works.size(), 2u);
  EXPECT_EQ(works[0], works[1]);
}

TEST_F(LaunchTest, RefusesWhatTheDriverRefuses) {
  struct Case {
    LaunchShape shape;
    Status expected;
  };
  const Case cases[] = {
      {{{0, 1, 1}, {32, 1, 1}}, Status::kInvalidValue},
      {{{1, 1, 1}, {0, 1, 1}}, Status::kInvalidValue},
      {{{1, 65536, 1}, {32, 1, 1}}, Status::kInvalidValue},
      {{{1, 1, 1}, {2048, 1, 1}}, Status::kInvalidValue},
      {{{1, 1, 1}, {32, 1, 65}}, Status::kInvalidValue},
      {{{1, 1, 1}, {32, 1, 1}, {}, 49153}, Status::kInvalidValue},
      {{{1, 1, 1}, {32, 1, 1}, {}, 49152}, Status::kSuccess},
      {{{3, 1, 1}, {32, 1, 1}, {2, 1, 1}}, Status::kInvalidClusterSize},
      {{{16, 1, 1}, {32, 1, 1}, {16, 1, 1}}, Status::kInvalidClusterSize},
      {{{16, 1, 1}, {32, 1, 1}, {8, 1, 1}}, Status::kSuccess},
      {{{132 * 2, 1, 1}, {1024, 1, 1}, {}, 0, true}, Status::kSuccess},
      {{{132 * 2 + 1, 1, 1}, {1024, 1, 1}, {}, 0, true}, Status::kCooperativeLaunchTooLarge},
  };
  for (const Case& row : cases) {
    EXPECT_EQ(LaunchScale(memory_, 1, 1, row.shape), row.expected) << &row - cases;
  }
  std::byte packed[56] = {};
  EXPECT_EQ(LaunchKernel(*tile_, {{1, 1, 1}, {512, 1, 1}}, {.packed = packed, .packed_bytes = 56},
                         stream_),
            Status::kInvalidValue)
      << "its code is compiled for blocks of at most 256 threads";
}

TEST_F(LaunchTest, ALargerDynamicPartMustBeAskedForFirst) {
  const LaunchShape shape{{1, 1, 1}, {32, 1, 1}, {}, 200'000};
  EXPECT_EQ(LaunchScale(memory_, 1, 1, shape), Status::kInvalidValue);

  scale_->dynamic_shared_max = 232'448;

  EXPECT_EQ(LaunchScale(memory_, 1, 1, shape), Status::kSuccess);
}

TEST_F(LaunchTest, ValuesBehindItsPointersBecomeStale) {
  const std::uint32_t value = 5;
  value::ProcessStore().Write(memory_ + 512, &value, sizeof(value));
  ASSERT_TRUE(value::ProcessStore().IsKnown(memory_ + 512, 4));

  ASSERT_EQ(LaunchScale(memory_ + 512, 1, 1, {{4096, 1, 1}, {128, 1, 1}}), Status::kSuccess);

  EXPECT_FALSE(value::ProcessStore().IsKnown(memory_ + 512, 4));
}

TEST_F(LaunchTest, AFewThreadsOnKnownBytesAreRunWithValuesOff) {
  const float value = 3;
  value::ProcessStore().Write(memory_ + 512, &value, sizeof(value));

  ASSERT_EQ(LaunchScale(memory_ + 512, 2, 1), Status::kSuccess);

  float result = 0;
  ASSERT_TRUE(value::ProcessStore().IsKnown(memory_ + 512, 4));
  value::ProcessStore().Read(memory_ + 512, &result, sizeof(result));
  EXPECT_EQ(result, 6);
}

// The program looks at its own memory without asking anybody, and changes it when it likes.
TEST_F(LaunchTest, KernelsReachPinnedMemoryWhenTheyAreLaunched) {
  agent_.header().unknown_reads |= ring::kComputeValues;
  void* pinned = nullptr;
  ASSERT_EQ(AllocateHost(4096, 0, &pinned), Status::kSuccess);
  auto* const numbers = static_cast<float*>(pinned);
  numbers[8] = 3;

  ASSERT_EQ(LaunchScale(reinterpret_cast<std::uint64_t>(numbers + 8), 2, 1), Status::kSuccess);
  EXPECT_EQ(numbers[8], 6);
  numbers[8] = 5;
  ASSERT_EQ(LaunchScale(reinterpret_cast<std::uint64_t>(numbers + 8), 2, 1), Status::kSuccess);
  EXPECT_EQ(numbers[8], 10);

  EXPECT_EQ(FreeHost(pinned), Status::kSuccess);
  agent_.header().unknown_reads &= ~ring::kComputeValues;
}

}  // namespace
}  // namespace eidolon::shim::gpu
