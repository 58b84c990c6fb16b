// Calls that cannot mean anything get the driver's codes, and those at the edge of them work.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/module/sample.h"
#include "shim/vendor/cuda_driver/handlers.h"

namespace eidolon::shim::cuda_driver {
namespace {

using ring::RecordKind;

constexpr size_t kMost = ~size_t{0};
constexpr size_t kBytes = 4 << 20;
constexpr size_t kGranule = 2 << 20;

struct Row {
  std::string name;
  std::function<CUresult()> call;
  CUresult expected;
};

class DriverImpossibleCallTest : public ::testing::Test {
 protected:
  DriverImpossibleCallTest() : agent_(core::FakeAgent::Start()) {
    EXPECT_EQ(start::Init(0), CUDA_SUCCESS);
    EXPECT_EQ(gpu::SetDevice(0), gpu::Status::kSuccess);
    EXPECT_EQ(memory::Allocate(&memory_, kBytes), CUDA_SUCCESS);
  }
  ~DriverImpossibleCallTest() override { memory::Free(memory_); }

  void ExpectAll(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      agent_.Reset();
      EXPECT_EQ(row.call(), row.expected) << row.name;
      if (row.expected == CUDA_SUCCESS) continue;
      EXPECT_TRUE(agent_.RecordsOf(RecordKind::kLaunch).empty()) << row.name;
    }
  }

  core::FakeAgent& agent_;
  CUdeviceptr memory_ = 0;
  char host_[4096] = {};
};

TEST_F(DriverImpossibleCallTest, CopiesBeyondAnAllocation) {
  const CUdeviceptr tail = memory_ + kBytes - 16;
  const auto plane = [&](CUDA_MEMCPY2D p) {
    p.srcMemoryType = CU_MEMORYTYPE_HOST;
    p.srcHost = host_;
    p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    p.dstDevice = memory_;
    return [p] { return copy::Copy2D(&p); };
  };
  ExpectAll({
      {"in, its last bytes", [&] { return copy::HostToDevice(tail, host_, 16); }, CUDA_SUCCESS},
      {"in, one more", [&] { return copy::HostToDeviceAsync(tail, host_, 17, nullptr); },
       CUDA_ERROR_INVALID_VALUE},
      {"out, one more", [&] { return copy::DeviceToHost(host_, tail, 17); },
       CUDA_ERROR_INVALID_VALUE},
      {"within, over its end", [&] { return copy::DeviceToDevice(memory_, tail, 17); },
       CUDA_ERROR_INVALID_VALUE},
      {"unified, all addresses",
       [&] { return copy::CopyAsync(memory_, memory_ + 8, kMost, nullptr); },
       CUDA_ERROR_INVALID_VALUE},
      {"no bytes", [&] { return copy::Copy(0, 0, 0); }, CUDA_SUCCESS},
      {"a plane to its end",
       plane({.dstXInBytes = kBytes / 2 - 16,
              .dstY = 1,
              .dstPitch = kBytes / 2,
              .WidthInBytes = 16,
              .Height = 1}),
       CUDA_SUCCESS},
      {"a plane behind its end",
       plane({.dstY = 2, .dstPitch = kBytes / 2, .WidthInBytes = 16, .Height = 1}),
       CUDA_ERROR_INVALID_VALUE},
      {"a plane beside its rows",
       plane({.dstXInBytes = 1, .dstPitch = 16, .WidthInBytes = 16, .Height = 2}),
       CUDA_ERROR_INVALID_VALUE},
      {"a plane that wraps around",
       plane({.dstY = kMost / 8 + 1, .dstPitch = 16, .WidthInBytes = 16, .Height = 1}),
       CUDA_ERROR_INVALID_VALUE},
      {"a pitch above the largest",
       plane({.dstPitch = size_t{1} << 31, .WidthInBytes = 16, .Height = 1}),
       CUDA_ERROR_INVALID_VALUE},
      {"a plane without rows", plane({.WidthInBytes = 16}), CUDA_SUCCESS},
  });
}

TEST_F(DriverImpossibleCallTest, ABatchNamesTheCopyThatIsRefused) {
  CUdeviceptr targets[] = {memory_, memory_ + 64, memory_ + kBytes};
  CUdeviceptr sources[] = {memory_ + 4096, memory_ + 8192, memory_};
  size_t sizes[] = {64, 64, 1};
  size_t failed = 0;
  const auto batch = [&](CUdeviceptr* from, size_t count) {
    failed = 0;
    return copy::Batch(targets, from, sizes, count, nullptr, nullptr, 0, &failed, nullptr);
  };

  EXPECT_EQ(batch(sources, 2), CUDA_SUCCESS);
  EXPECT_EQ(batch(sources, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, 2u);
  EXPECT_EQ(batch(nullptr, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, kMost);
}

TEST_F(DriverImpossibleCallTest, MemsetsBeyondAnAllocation) {
  ExpectAll({
      {"the whole in words", [&] { return copy::Set32(memory_, 1, kBytes / 4); }, CUDA_SUCCESS},
      {"a word more", [&] { return copy::Set32(memory_, 1, kBytes / 4 + 1); },
       CUDA_ERROR_INVALID_VALUE},
      {"2^62 words, 0 bytes if they wrapped",
       [&] { return copy::Set32(memory_, 1, kMost / 4 + 1); }, CUDA_ERROR_INVALID_VALUE},
      {"2^63 halves, 0 bytes if they wrapped",
       [&] { return copy::Set16Async(memory_, 1, kMost / 2 + 1, nullptr); },
       CUDA_ERROR_INVALID_VALUE},
      {"all addresses", [&] { return copy::Set8(memory_, 1, kMost); }, CUDA_ERROR_INVALID_VALUE},
      {"no bytes", [&] { return copy::Set8(memory_, 1, 0); }, CUDA_SUCCESS},
      {"a word between words", [&] { return copy::Set32(memory_ + 2, 1, 1); },
       CUDA_ERROR_INVALID_VALUE},
      {"rows", [&] { return copy::Set2D16(memory_, kBytes / 2, 1, 8, 2); }, CUDA_SUCCESS},
      {"a row too many", [&] { return copy::Set2D16(memory_, kBytes / 2, 1, 8, 3); },
       CUDA_ERROR_INVALID_VALUE},
      {"rows between halves", [&] { return copy::Set2D16(memory_, 33, 1, 8, 2); },
       CUDA_ERROR_INVALID_VALUE},
      {"rows that overlap", [&] { return copy::Set2D32(memory_, 28, 1, 8, 2); },
       CUDA_ERROR_INVALID_VALUE},
  });
}

TEST_F(DriverImpossibleCallTest, AllocationsAndMappingsThatCannotBe) {
  CUdeviceptr pointer = 0;
  CUdeviceptr reserved = 0;
  size_t pitch = 0;
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  ASSERT_EQ(virtual_memory::ReserveAddress(&reserved, 4 * kGranule, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(virtual_memory::Create(&handle, kGranule, &properties, 0), CUDA_SUCCESS);
  const auto create = [&](size_t size) {
    return [=, &properties] {
      CUmemGenericAllocationHandle made = 0;
      return virtual_memory::Create(&made, size, &properties, 0);
    };
  };
  const auto map = [&](CUdeviceptr at, size_t size, size_t offset) {
    return [=] { return virtual_memory::Map(at, size, offset, handle, 0); };
  };
  const auto set_access = [&](CUdeviceptr at, size_t size) {
    return [=, &access] { return virtual_memory::SetAccess(at, size, &access, 1); };
  };

  ExpectAll({
      {"all addresses", [&] { return memory::Allocate(&pointer, kMost); },
       CUDA_ERROR_OUT_OF_MEMORY},
      {"nothing", [&] { return memory::Allocate(&pointer, 0); }, CUDA_ERROR_INVALID_VALUE},
      {"2^64 bytes in rows",
       [&] { return memory::AllocatePitch(&pointer, &pitch, size_t{1} << 32, size_t{1} << 32, 4); },
       CUDA_ERROR_OUT_OF_MEMORY},
      {"rows of odd elements", [&] { return memory::AllocatePitch(&pointer, &pitch, 64, 4, 3); },
       CUDA_ERROR_INVALID_VALUE},
      {"2^64 reserved",
       [&] { return virtual_memory::ReserveAddress(&pointer, -kGranule, 0, 0, 0); },
       CUDA_ERROR_OUT_OF_MEMORY},
      {"a part of a granule reserved",
       [&] { return virtual_memory::ReserveAddress(&pointer, kGranule + 1, 0, 0, 0); },
       CUDA_ERROR_INVALID_VALUE},
      {"2^64 made", create(-kGranule), CUDA_ERROR_OUT_OF_MEMORY},
      {"2^63 made", create(kMost / 2 + 1), CUDA_ERROR_OUT_OF_MEMORY},
      {"a part of a granule made", create(kGranule + 512), CUDA_ERROR_INVALID_VALUE},
      {"mapped behind the reservation", map(reserved + 4 * kGranule, kGranule, 0),
       CUDA_ERROR_INVALID_VALUE},
      {"mapped over all addresses", map(reserved, -kGranule, 0), CUDA_ERROR_INVALID_VALUE},
      {"more than there is mapped", map(reserved, 2 * kGranule, 0), CUDA_ERROR_INVALID_VALUE},
      {"from behind its end", map(reserved, kGranule, kGranule), CUDA_ERROR_INVALID_VALUE},
      {"mapped", map(reserved, kGranule, 0), CUDA_SUCCESS},
      {"mapped twice", map(reserved, kGranule, 0), CUDA_ERROR_INVALID_VALUE},
      {"access", set_access(reserved, kGranule), CUDA_SUCCESS},
      {"access to what is not mapped", set_access(reserved, 2 * kGranule),
       CUDA_ERROR_INVALID_VALUE},
      {"access to all addresses", set_access(reserved, -kGranule), CUDA_ERROR_INVALID_VALUE},
      {"access to nothing", set_access(reserved, 0), CUDA_ERROR_INVALID_VALUE},
      {"unmapped, all addresses", [&] { return virtual_memory::Unmap(reserved, -kGranule); },
       CUDA_ERROR_INVALID_VALUE},
      {"freed while mapped", [&] { return virtual_memory::FreeAddress(reserved, 4 * kGranule); },
       CUDA_ERROR_INVALID_VALUE},
      {"unmapped", [&] { return virtual_memory::Unmap(reserved, kGranule); }, CUDA_SUCCESS},
  });
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(memory::GetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_LE(free, total - kBytes - kGranule);
  EXPECT_EQ(virtual_memory::Release(handle), CUDA_SUCCESS);
  EXPECT_EQ(virtual_memory::FreeAddress(reserved, 4 * kGranule), CUDA_SUCCESS);
}

TEST_F(DriverImpossibleCallTest, LaunchesThatNoDeviceTakes) {
  CUmodule loaded = nullptr;
  CUfunction scale = nullptr;
  ASSERT_EQ(module::LoadData(&loaded, gpu::SampleFatBinary().data()), CUDA_SUCCESS);
  ASSERT_EQ(module::GetFunction(&scale, loaded, "scale"), CUDA_SUCCESS);
  float factor = 2;
  unsigned count = 5;
  void* arguments[] = {&memory_, &factor, &count};
  struct Shape {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared = 0;
  };
  const auto launch = [&](CUfunction function, Shape s) {
    return [=, &arguments] {
      return launch::LaunchKernel(function, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1],
                                  s.block[2], s.shared, nullptr, arguments, nullptr);
    };
  };

  ExpectAll({
      {"the largest block", launch(scale, {{1, 1, 1}, {1024, 1, 1}}), CUDA_SUCCESS},
      {"the longest grid", launch(scale, {{0x7fffffff, 1, 1}, {1, 1, 1}}), CUDA_SUCCESS},
      {"no function", launch(nullptr, {{1, 1, 1}, {1, 1, 1}}), CUDA_ERROR_INVALID_HANDLE},
      {"no blocks", launch(scale, {{0, 1, 1}, {1, 1, 1}}), CUDA_ERROR_INVALID_VALUE},
      {"no threads", launch(scale, {{1, 1, 1}, {1, 1, 0}}), CUDA_ERROR_INVALID_VALUE},
      {"a block too large", launch(scale, {{1, 1, 1}, {1025, 1, 1}}), CUDA_ERROR_INVALID_VALUE},
      {"a block too large together", launch(scale, {{1, 1, 1}, {32, 33, 1}}),
       CUDA_ERROR_INVALID_VALUE},
      {"a block too deep", launch(scale, {{1, 1, 1}, {1, 1, 65}}), CUDA_ERROR_INVALID_VALUE},
      {"a grid too long", launch(scale, {{0x80000000, 1, 1}, {1, 1, 1}}), CUDA_ERROR_INVALID_VALUE},
      {"a grid too high", launch(scale, {{1, 65536, 1}, {1, 1, 1}}), CUDA_ERROR_INVALID_VALUE},
      {"more shared memory than allowed", launch(scale, {{1, 1, 1}, {1, 1, 1}, 49153}),
       CUDA_ERROR_INVALID_VALUE},
      {"more shared memory than there is",
       [&] {
         return function::SetAttribute(scale, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       232449);
       },
       CUDA_ERROR_INVALID_VALUE},
      {"all shared memory there is",
       [&] {
         return function::SetAttribute(scale, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       232448);
       },
       CUDA_SUCCESS},
      {"launched with it", launch(scale, {{1, 1, 1}, {1, 1, 1}, 232448}), CUDA_SUCCESS},
  });
  EXPECT_EQ(module::Unload(loaded), CUDA_SUCCESS);
}

}  // namespace
}  // namespace eidolon::shim::cuda_driver
