// All calls end in one of two requests, a box of bytes from one side to the other or a fill. They
// differ in what they check and in whether they block. A memory type of "unified" and the plain
// cuMemcpy leave the direction to the addresses. A pitch or height of zero stands for rows and
// slices without gaps. Arrays have no linear addresses and are refused. Copies of a batch run in
// order, and those before a refused one have happened.
#include "shim/vendor/cuda_driver/copy.h"

#include <cstdint>
#include <optional>

#include "shim/gpu/copy/pitched_copy.h"
#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::copy {
namespace {

using gpu::CopyDirection;
using gpu::CopyMode;
using gpu::Status;

void* Pointer(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }

CUresult Run(gpu::CopyRequest request, CopyDirection direction, CopyMode mode, CUstream stream) {
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  request.direction = direction;
  request.mode = mode;
  return ToResult(gpu::Copy(request, stream));
}

gpu::CopyRequest Flat(void* target, const void* source, size_t bytes) {
  return {.target = target, .source = source, .shape = {.row_bytes = bytes}};
}

// The begin of one side of a 2D or 3D copy; null for a memory type that there is none of.
const void* Begin(CUmemorytype type, const void* host, CUdeviceptr device) {
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      return host;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
      return Pointer(device);
    default:
      return nullptr;
  }
}

bool IsArray(CUmemorytype type) { return type == CU_MEMORYTYPE_ARRAY; }

// A pitch of 0 stands for rows without a gap.
gpu::PitchedSide SideOf(const void* begin, size_t pitch, size_t height, const gpu::CopyBox& box) {
  return {.begin = begin,
          .pitch = pitch == 0 ? box.width : pitch,
          .height = height == 0 ? box.height : height};
}

// Nothing when the sides do not hold the box. A box without bytes is a copy of nothing.
std::optional<gpu::CopyRequest> BoxOf(const gpu::PitchedSide& target,
                                      const gpu::PitchedSide& source, const gpu::CopyBox& box) {
  if (box.width == 0 || box.height == 0 || box.depth == 0) return Flat(nullptr, nullptr, 0);
  return gpu::MakePitchedCopy(target, source, box);
}

CUresult RunBox(const gpu::PitchedSide& target, const gpu::PitchedSide& source,
                const gpu::CopyBox& box, CopyMode mode, CUstream stream) {
  const auto request = BoxOf(target, source, box);
  if (!request.has_value()) return ToResult(Status::kInvalidValue);
  return Run(*request, CopyDirection::kAny, mode, stream);
}

CUresult RunPlane(const CUDA_MEMCPY2D* p, CopyMode mode, CUstream stream) {
  if (p == nullptr) return ToResult(Status::kInvalidValue);
  if (IsArray(p->dstMemoryType) || IsArray(p->srcMemoryType)) {
    return ToResult(Status::kNotSupported);
  }
  if (p->dstPitch > gpu::kPitchMax || p->srcPitch > gpu::kPitchMax) {
    return ToResult(Status::kInvalidValue);
  }
  const gpu::CopyBox box = {p->WidthInBytes, p->Height, 1};
  auto target = SideOf(Begin(p->dstMemoryType, p->dstHost, p->dstDevice), p->dstPitch, 0, box);
  auto source = SideOf(Begin(p->srcMemoryType, p->srcHost, p->srcDevice), p->srcPitch, 0, box);
  target.x = p->dstXInBytes;
  target.y = p->dstY;
  source.x = p->srcXInBytes;
  source.y = p->srcY;
  return RunBox(target, source, box, mode, stream);
}

// Both kinds of 3D parameters have the same fields.
template <typename Parameters>
Status ReadVolume(const Parameters* p, gpu::CopyRequest* request) {
  if (p == nullptr) return Status::kInvalidValue;
  if (IsArray(p->dstMemoryType) || IsArray(p->srcMemoryType)) return Status::kNotSupported;
  const gpu::CopyBox box = {p->WidthInBytes, p->Height, p->Depth};
  auto target =
      SideOf(Begin(p->dstMemoryType, p->dstHost, p->dstDevice), p->dstPitch, p->dstHeight, box);
  auto source =
      SideOf(Begin(p->srcMemoryType, p->srcHost, p->srcDevice), p->srcPitch, p->srcHeight, box);
  target.x = p->dstXInBytes;
  target.y = p->dstY;
  target.z = p->dstZ;
  source.x = p->srcXInBytes;
  source.y = p->srcY;
  source.z = p->srcZ;
  const auto found = BoxOf(target, source, box);
  if (!found.has_value()) return Status::kInvalidValue;
  *request = *found;
  return Status::kSuccess;
}

template <typename Parameters>
CUresult RunVolume(const Parameters* p, CopyMode mode, CUstream stream) {
  gpu::CopyRequest request;
  if (const Status status = ReadVolume(p, &request); status != Status::kSuccess) {
    return ToResult(status);
  }
  return Run(request, CopyDirection::kAny, mode, stream);
}

struct Rows {
  size_t width;
  size_t height = 1;
  size_t pitch = 0;
};

template <typename Value>
CUresult Fill(CUdeviceptr target, Value value, Rows rows, CUstream stream) {
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  return ToResult(gpu::Fill({.target = Pointer(target),
                             .value = value,
                             .element_bytes = sizeof(Value),
                             .elements = rows.width,
                             .rows = rows.height,
                             .pitch = rows.pitch},
                            stream));
}

}  // namespace

Status RequestOf(const CUDA_MEMCPY3D* parameters, gpu::CopyRequest* request) noexcept {
  return ReadVolume(parameters, request);
}

CUresult Copy(CUdeviceptr target, CUdeviceptr source, size_t bytes) noexcept {
  return Run(Flat(Pointer(target), Pointer(source), bytes), CopyDirection::kAny,
             CopyMode::kBlocking, nullptr);
}

CUresult CopyAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream) noexcept {
  return Run(Flat(Pointer(target), Pointer(source), bytes), CopyDirection::kAny, CopyMode::kAsync,
             stream);
}

CUresult DeviceToDevice(CUdeviceptr target, CUdeviceptr source, size_t bytes) noexcept {
  return Copy(target, source, bytes);
}

CUresult DeviceToDeviceAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes,
                             CUstream stream) noexcept {
  return CopyAsync(target, source, bytes, stream);
}

CUresult DeviceToHost(void* target, CUdeviceptr source, size_t bytes) noexcept {
  return Run(Flat(target, Pointer(source), bytes), CopyDirection::kDeviceToHost,
             CopyMode::kBlocking, nullptr);
}

CUresult DeviceToHostAsync(void* target, CUdeviceptr source, size_t bytes,
                           CUstream stream) noexcept {
  return Run(Flat(target, Pointer(source), bytes), CopyDirection::kDeviceToHost, CopyMode::kAsync,
             stream);
}

CUresult HostToDevice(CUdeviceptr target, const void* source, size_t bytes) noexcept {
  return Run(Flat(Pointer(target), source, bytes), CopyDirection::kHostToDevice,
             CopyMode::kBlocking, nullptr);
}

CUresult HostToDeviceAsync(CUdeviceptr target, const void* source, size_t bytes,
                           CUstream stream) noexcept {
  return Run(Flat(Pointer(target), source, bytes), CopyDirection::kHostToDevice, CopyMode::kAsync,
             stream);
}

CUresult Peer(CUdeviceptr target, CUcontext, CUdeviceptr source, CUcontext, size_t bytes) noexcept {
  return Copy(target, source, bytes);
}

CUresult PeerAsync(CUdeviceptr target, CUcontext, CUdeviceptr source, CUcontext, size_t bytes,
                   CUstream stream) noexcept {
  return CopyAsync(target, source, bytes, stream);
}

CUresult Copy2D(const CUDA_MEMCPY2D* parameters) noexcept {
  return RunPlane(parameters, CopyMode::kBlocking, nullptr);
}

CUresult Copy2DAsync(const CUDA_MEMCPY2D* parameters, CUstream stream) noexcept {
  return RunPlane(parameters, CopyMode::kAsync, stream);
}

CUresult Copy3D(const CUDA_MEMCPY3D* parameters) noexcept {
  return RunVolume(parameters, CopyMode::kBlocking, nullptr);
}

CUresult Copy3DAsync(const CUDA_MEMCPY3D* parameters, CUstream stream) noexcept {
  return RunVolume(parameters, CopyMode::kAsync, stream);
}

CUresult Copy3DPeer(const CUDA_MEMCPY3D_PEER* parameters) noexcept {
  return RunVolume(parameters, CopyMode::kBlocking, nullptr);
}

CUresult Copy3DPeerAsync(const CUDA_MEMCPY3D_PEER* parameters, CUstream stream) noexcept {
  return RunVolume(parameters, CopyMode::kAsync, stream);
}

CUresult Batch(CUdeviceptr* targets, CUdeviceptr* sources, size_t* sizes, size_t count,
               CUmemcpyAttributes*, size_t*, size_t, size_t* failed, CUstream stream) noexcept {
  if (failed != nullptr) *failed = SIZE_MAX;  // Of none of them.
  if (count == 0 || targets == nullptr || sources == nullptr || sizes == nullptr) {
    return ToResult(Status::kInvalidValue);
  }
  for (size_t i = 0; i < count; ++i) {
    const CUresult result = CopyAsync(targets[i], sources[i], sizes[i], stream);
    if (result == CUDA_SUCCESS) continue;
    if (failed != nullptr) *failed = i;
    return result;
  }
  return CUDA_SUCCESS;
}

CUresult BatchV2(CUdeviceptr* targets, CUdeviceptr* sources, size_t* sizes, size_t count,
                 CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                 CUstream stream) noexcept {
  return Batch(targets, sources, sizes, count, attributes, indices, attribute_count, nullptr,
               stream);
}

CUresult WithAttributes(CUdeviceptr target, CUdeviceptr source, size_t size, CUmemcpyAttributes*,
                        CUstream stream) noexcept {
  return CopyAsync(target, source, size, stream);
}

CUresult Copy3DWithAttributes(CUDA_MEMCPY3D_BATCH_OP* operation, unsigned long long,
                              CUstream stream) noexcept {
  if (operation == nullptr) return ToResult(Status::kInvalidValue);
  if (operation->src.type != CU_MEMCPY_OPERAND_TYPE_POINTER ||
      operation->dst.type != CU_MEMCPY_OPERAND_TYPE_POINTER) {
    return ToResult(Status::kNotSupported);
  }
  const gpu::CopyBox box = {operation->extent.width, operation->extent.height,
                            operation->extent.depth};
  const auto side = [&](const CUmemcpy3DOperand& operand) {
    const auto& layout = operand.op.ptr;
    return SideOf(Pointer(layout.ptr), layout.rowLength, layout.layerHeight, box);
  };
  return RunBox(side(operation->dst), side(operation->src), box, CopyMode::kAsync, stream);
}

CUresult Batch3D(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed,
                 unsigned long long flags, CUstream stream) noexcept {
  if (failed != nullptr) *failed = SIZE_MAX;  // Of none of them.
  if (count == 0 || operations == nullptr) return ToResult(Status::kInvalidValue);
  for (size_t i = 0; i < count; ++i) {
    const CUresult result = Copy3DWithAttributes(&operations[i], flags, stream);
    if (result == CUDA_SUCCESS) continue;
    if (failed != nullptr) *failed = i;
    return result;
  }
  return CUDA_SUCCESS;
}

CUresult Batch3DV2(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, unsigned long long flags,
                   CUstream stream) noexcept {
  return Batch3D(count, operations, nullptr, flags, stream);
}

CUresult Prefetch(CUdeviceptr pointer, size_t count, CUdevice device, CUstream stream) noexcept {
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  return ToResult(gpu::Prefetch(Pointer(pointer), count, device, stream));
}

CUresult PrefetchV2(CUdeviceptr pointer, size_t count, CUmemLocation location, unsigned,
                    CUstream stream) noexcept {
  const bool to_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  return Prefetch(pointer, count, to_device ? location.id : CU_DEVICE_CPU, stream);
}

CUresult Set8(CUdeviceptr target, unsigned char value, size_t count) noexcept {
  return Fill(target, value, {count}, nullptr);
}

CUresult Set16(CUdeviceptr target, unsigned short value, size_t count) noexcept {
  return Fill(target, value, {count}, nullptr);
}

CUresult Set32(CUdeviceptr target, unsigned value, size_t count) noexcept {
  return Fill(target, value, {count}, nullptr);
}

CUresult Set8Async(CUdeviceptr target, unsigned char value, size_t count,
                   CUstream stream) noexcept {
  return Fill(target, value, {count}, stream);
}

CUresult Set16Async(CUdeviceptr target, unsigned short value, size_t count,
                    CUstream stream) noexcept {
  return Fill(target, value, {count}, stream);
}

CUresult Set32Async(CUdeviceptr target, unsigned value, size_t count, CUstream stream) noexcept {
  return Fill(target, value, {count}, stream);
}

CUresult Set2D8(CUdeviceptr target, size_t pitch, unsigned char value, size_t width,
                size_t height) noexcept {
  return Fill(target, value, {width, height, pitch}, nullptr);
}

CUresult Set2D16(CUdeviceptr target, size_t pitch, unsigned short value, size_t width,
                 size_t height) noexcept {
  return Fill(target, value, {width, height, pitch}, nullptr);
}

CUresult Set2D32(CUdeviceptr target, size_t pitch, unsigned value, size_t width,
                 size_t height) noexcept {
  return Fill(target, value, {width, height, pitch}, nullptr);
}

CUresult Set2D8Async(CUdeviceptr target, size_t pitch, unsigned char value, size_t width,
                     size_t height, CUstream stream) noexcept {
  return Fill(target, value, {width, height, pitch}, stream);
}

CUresult Set2D16Async(CUdeviceptr target, size_t pitch, unsigned short value, size_t width,
                      size_t height, CUstream stream) noexcept {
  return Fill(target, value, {width, height, pitch}, stream);
}

CUresult Set2D32Async(CUdeviceptr target, size_t pitch, unsigned value, size_t width, size_t height,
                      CUstream stream) noexcept {
  return Fill(target, value, {width, height, pitch}, stream);
}

}  // namespace eidolon::shim::cuda_driver::copy
