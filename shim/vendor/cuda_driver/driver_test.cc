// The driver's face: its own rules and structs. What is behind it is tested in gpu.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <utility>

#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"
#include "shim/vendor/cuda_driver/handlers.h"

namespace eidolon::shim::cuda_driver {
namespace {

class DriverTest : public ::testing::Test {
 protected:
  DriverTest() : agent_(core::FakeAgent::Start()) {
    EXPECT_EQ(start::Init(0), CUDA_SUCCESS);
    EXPECT_EQ(context::PrimaryRetain(&context_, 0), CUDA_SUCCESS);
    EXPECT_EQ(context::SetCurrent(context_), CUDA_SUCCESS);
    agent_.Reset();
  }

  core::FakeAgent& agent_;
  CUcontext context_ = nullptr;
};

TEST_F(DriverTest, DevicesDescribeTheEmulatedGpu) {
  char name[64];
  size_t bytes = 0;
  int value = 0;
  CUuuid uuid;
  EXPECT_EQ(device::GetName(name, sizeof(name), 1), CUDA_SUCCESS);
  EXPECT_STREQ(name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(device::GetName(name, 7, 1), CUDA_SUCCESS);
  EXPECT_STREQ(name, "NVIDIA");
  EXPECT_EQ(device::TotalMemory(&bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(bytes, size_t{80} << 30);
  EXPECT_EQ(device::GetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(value, 132);
  EXPECT_EQ(device::GetUuid(&uuid, 1), CUDA_SUCCESS);
  EXPECT_EQ(uuid.bytes[0], 0x11);
  EXPECT_EQ(device::GetName(name, sizeof(name), 2), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(DriverTest, CallsWithoutAContextAreRefused) {
  EXPECT_EQ(context::SetCurrent(nullptr), CUDA_SUCCESS);
  CUdeviceptr pointer = 0;
  EXPECT_EQ(memory::Allocate(&pointer, 100), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(context::Synchronize(), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(DriverTest, MemoryIsFreedWithoutAContext) {
  CUdeviceptr pointer = 0;
  ASSERT_EQ(memory::Allocate(&pointer, 100), CUDA_SUCCESS);
  EXPECT_EQ(context::SetCurrent(nullptr), CUDA_SUCCESS);

  EXPECT_EQ(memory::Free(pointer), CUDA_SUCCESS);
  EXPECT_EQ(memory::Free(pointer), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, ContextsStack) {
  CUcontext other = nullptr;
  CUcontext seen = nullptr;
  ASSERT_EQ(context::Create(&other, 0, 1), CUDA_SUCCESS);
  CUdevice device = -1;
  EXPECT_EQ(context::GetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(context::Pop(&seen), CUDA_SUCCESS);
  EXPECT_EQ(seen, other);
  EXPECT_EQ(context::GetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(context::Destroy(other), CUDA_SUCCESS);
  EXPECT_EQ(context::Push(other), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(DriverTest, PointerAttributesTellTheKindOfMemory) {
  CUdeviceptr pointer = 0;
  ASSERT_EQ(memory::Allocate(&pointer, 5000), CUDA_SUCCESS);
  unsigned type = 0;
  CUdeviceptr begin = 0;
  size_t size = 0;
  EXPECT_EQ(memory::PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer + 10),
            CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(memory::GetAddressRange(&begin, &size, pointer + 10), CUDA_SUCCESS);
  EXPECT_EQ(begin, pointer);
  EXPECT_EQ(size, 5000u);
  EXPECT_EQ(memory::PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        reinterpret_cast<CUdeviceptr>(&type)),
            CUDA_ERROR_INVALID_VALUE);

  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  int ordinal = 7;
  void* data[] = {&type, &ordinal};
  EXPECT_EQ(memory::PointerGetAttributes(2, attributes, data, reinterpret_cast<CUdeviceptr>(&type)),
            CUDA_SUCCESS);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(ordinal, -2);
  EXPECT_EQ(memory::Free(pointer), CUDA_SUCCESS);
}

TEST_F(DriverTest, MemsetsHaveTheirWidths) {
  CUdeviceptr pointer = 0;
  ASSERT_EQ(memory::Allocate(&pointer, 4096), CUDA_SUCCESS);
  EXPECT_EQ(copy::Set16(pointer, 0x4241, 3), CUDA_SUCCESS);
  EXPECT_EQ(copy::Set2D8(pointer + 512, 16, 'x', 2, 2), CUDA_SUCCESS);
  char back[7] = {};
  EXPECT_EQ(copy::DeviceToHost(back, pointer, 6), CUDA_SUCCESS);
  EXPECT_STREQ(back, "ABABAB");
  CUDA_MEMCPY2D plane{};
  plane.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  plane.srcDevice = pointer + 512;
  plane.srcPitch = 16;
  plane.dstMemoryType = CU_MEMORYTYPE_HOST;
  plane.dstHost = back;
  plane.WidthInBytes = 2;
  plane.Height = 2;
  EXPECT_EQ(copy::Copy2D(&plane), CUDA_SUCCESS);
  EXPECT_EQ(std::strncmp(back, "xxxx", 4), 0);
  EXPECT_EQ(copy::Set32(pointer + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
  memory::Free(pointer);
}

TEST_F(DriverTest, RowsAndVolumesAreCopiedByEveryCall) {
  CUdeviceptr pointer = 0;
  ASSERT_EQ(memory::Allocate(&pointer, 4096), CUDA_SUCCESS);
  const char text[] = "abcdefgh";
  CUDA_MEMCPY2D plane{};
  plane.srcMemoryType = CU_MEMORYTYPE_HOST;
  plane.srcHost = text;
  plane.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  plane.dstDevice = pointer;
  plane.WidthInBytes = 4;
  plane.Height = 2;
  CUDA_MEMCPY3D volume{};
  volume.srcMemoryType = CU_MEMORYTYPE_HOST;
  volume.srcHost = text;
  volume.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  volume.dstDevice = pointer;
  volume.WidthInBytes = 4;
  volume.Height = 1;
  volume.Depth = 2;
  const std::pair<const char*, std::function<CUresult()>> calls[] = {
      {"Copy2D", [&] { return copy::Copy2D(&plane); }},
      {"Copy2DAsync", [&] { return copy::Copy2DAsync(&plane, nullptr); }},
      {"Copy3D", [&] { return copy::Copy3D(&volume); }},
      {"Copy3DAsync", [&] { return copy::Copy3DAsync(&volume, nullptr); }}};

  for (const auto& [name, call] : calls) {
    ASSERT_EQ(copy::Set8(pointer, 'x', 8), CUDA_SUCCESS);
    EXPECT_EQ(call(), CUDA_SUCCESS) << name;
    char back[9] = {};
    EXPECT_EQ(copy::DeviceToHost(back, pointer, 8), CUDA_SUCCESS);
    EXPECT_STREQ(back, text) << name;
  }
  memory::Free(pointer);
}

TEST_F(DriverTest, VirtualMemoryIsExportedAsADescriptor) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  size_t granularity = 0;
  EXPECT_EQ(
      virtual_memory::GetGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
      CUDA_SUCCESS);
  EXPECT_EQ(granularity, size_t{2} << 20);
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_EQ(virtual_memory::Create(&handle, granularity, &properties, 0), CUDA_SUCCESS);
  int descriptor = -1;
  EXPECT_EQ(
      virtual_memory::Export(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
      CUDA_SUCCESS);
  CUmemGenericAllocationHandle imported = 0;
  EXPECT_EQ(virtual_memory::Import(&imported,
                                   reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  EXPECT_EQ(virtual_memory::Release(imported), CUDA_SUCCESS);
  EXPECT_EQ(virtual_memory::Release(handle), CUDA_SUCCESS);
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  EXPECT_EQ(virtual_memory::Create(&handle, granularity, &properties, 0), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(DriverTest, NamesOfErrorsAreTheDriversOwn) {
  const char* text = nullptr;
  EXPECT_EQ(start::GetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(start::GetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(start::GetErrorName(static_cast<CUresult>(12), &text), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, ExportedRowsReachTheHandlers) {
  int version = 0;
  EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, 13020);
  CUevent event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

}  // namespace
}  // namespace eidolon::shim::cuda_driver
