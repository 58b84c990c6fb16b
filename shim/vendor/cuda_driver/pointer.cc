// What the driver says about an address, attribute by attribute.
#include <cstring>

#include "shim/gpu/allocation/pointer.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/memory/memory.h"
#include "shim/vendor/cuda_driver/memory.h"
#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::memory {
namespace {

using gpu::PointerInfo;
using gpu::PointerKind;
using gpu::Status;

template <typename Value>
Status Put(void* data, Value value) {
  std::memcpy(data, &value, sizeof(value));
  return Status::kSuccess;
}

bool OnDevice(const PointerInfo& info) {
  return info.kind == PointerKind::kDevice || info.kind == PointerKind::kManaged;
}

bool OnHost(const PointerInfo& info) {
  return info.kind == PointerKind::kHost || info.kind == PointerKind::kManaged;
}

Status PutPlace(void* data, CUpointer_attribute attribute, CUdeviceptr pointer,
                const PointerInfo& info) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return Put<CUcontext>(data, reinterpret_cast<CUcontext>(gpu::PrimaryContext(info.device)));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return Put<unsigned>(data, OnDevice(info) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return Put<CUdeviceptr>(data, pointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return OnHost(info) ? Put<CUdeviceptr>(data, pointer) : Status::kInvalidValue;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Put<int>(data, info.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return Put<CUdeviceptr>(data, info.begin);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return Put<size_t>(data, info.bytes);
    default:
      return Status::kInvalidValue;
  }
}

Status PutQuality(void* data, CUpointer_attribute attribute, const PointerInfo& info) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return Put<int>(data, 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return Put<unsigned long long>(data, gpu::BufferId(info.begin));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return Put<unsigned>(data, info.kind == PointerKind::kManaged ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return Put<bool>(data, info.kind == PointerKind::kDevice);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return Put<bool>(data, true);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return Put<unsigned long long>(data, CU_MEM_HANDLE_TYPE_NONE);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return Put<unsigned>(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return Put<CUmemoryPool>(data, nullptr);
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return Put<bool>(data, false);
    default:
      return Status::kNotSupported;
  }
}

bool IsPlace(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return true;
    default:
      return false;
  }
}

Status PutAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer,
                    const PointerInfo& info) {
  return IsPlace(attribute) ? PutPlace(data, attribute, pointer, info)
                            : PutQuality(data, attribute, info);
}

// Writes the answer of cuPointerGetAttributes for an address that CUDA does not know.
void PutUnknown(void* data, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      Put<std::uint64_t>(data, 0);
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      Put<int>(data, -2);
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      Put<unsigned>(data, 0);
      break;
    default:
      break;
  }
}

}  // namespace

CUresult PointerGetAttribute(void* data, CUpointer_attribute attribute,
                             CUdeviceptr pointer) noexcept {
  if (data == nullptr) return ToResult(Status::kInvalidValue);
  const PointerInfo info = gpu::Inspect(reinterpret_cast<void*>(pointer));
  if (info.kind == PointerKind::kUnregistered) return ToResult(Status::kInvalidValue);
  return ToResult(PutAttribute(data, attribute, pointer, info));
}

CUresult PointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                              CUdeviceptr pointer) noexcept {
  if (count == 0 || attributes == nullptr || data == nullptr)
    return ToResult(Status::kInvalidValue);
  const PointerInfo info = gpu::Inspect(reinterpret_cast<void*>(pointer));
  for (unsigned i = 0; i < count; ++i) {
    const bool known = info.kind != PointerKind::kUnregistered &&
                       PutAttribute(data[i], attributes[i], pointer, info) == Status::kSuccess;
    if (!known) PutUnknown(data[i], attributes[i]);
  }
  return CUDA_SUCCESS;
}

CUresult PointerSetAttribute(const void* value, CUpointer_attribute attribute,
                             CUdeviceptr pointer) noexcept {
  // Synchronous memory operations are what the emulated copies do anyway.
  const bool known =
      gpu::Inspect(reinterpret_cast<void*>(pointer)).kind != PointerKind::kUnregistered;
  const bool valid = value != nullptr && known && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
  return ToResult(valid ? Status::kSuccess : Status::kInvalidValue);
}

}  // namespace eidolon::shim::cuda_driver::memory
