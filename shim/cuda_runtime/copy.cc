#include "shim/cuda_runtime/copy.h"

#include <optional>

#include "shim/cuda_runtime/error_state.h"
#include "shim/gpu/copy.h"
#include "shim/gpu/host_symbols.h"
#include "shim/gpu/submit.h"

namespace eidolon::shim::cuda_runtime::copy {
namespace {

using gpu::CopyDirection;
using gpu::CopyMode;
using gpu::Status;

std::optional<CopyDirection> DirectionOf(cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return CopyDirection::kHostToHost;
    case cudaMemcpyHostToDevice:
      return CopyDirection::kHostToDevice;
    case cudaMemcpyDeviceToHost:
      return CopyDirection::kDeviceToHost;
    case cudaMemcpyDeviceToDevice:
      return CopyDirection::kDeviceToDevice;
    case cudaMemcpyDefault:
      return CopyDirection::kAny;
  }
  return std::nullopt;
}

// What all copies end in.
cudaError_t Run(gpu::CopyRequest request, cudaMemcpyKind kind, CopyMode mode, cudaStream_t stream) {
  const auto direction = DirectionOf(kind);
  if (!direction.has_value()) return error_state::Fail(cudaErrorInvalidMemcpyDirection);
  request.direction = *direction;
  request.mode = mode;
  return error_state::Finish(gpu::Copy(request, stream));
}

gpu::CopyRequest Flat(void* target, const void* source, size_t count) {
  return {.target = target, .source = source, .shape = {.row_bytes = count}};
}

struct Plane {
  void* target;
  size_t target_pitch;
  const void* source;
  size_t source_pitch;
  size_t width;
  size_t height;
};

cudaError_t RunPlane(const Plane& plane, cudaMemcpyKind kind, CopyMode mode, cudaStream_t stream) {
  if (plane.width > plane.target_pitch || plane.width > plane.source_pitch) {
    return error_state::Fail(cudaErrorInvalidPitchValue);
  }
  return Run({.target = plane.target,
              .source = plane.source,
              .shape = {.row_bytes = plane.width,
                        .rows = plane.height,
                        .target_pitch = plane.target_pitch,
                        .source_pitch = plane.source_pitch}},
             kind, mode, stream);
}

// Both kinds of 3D parameters have the same fields.
template <typename Parameters>
cudaError_t RunVolume(const Parameters* p, cudaMemcpyKind kind, CopyMode mode,
                      cudaStream_t stream) {
  if (p == nullptr) return error_state::Finish(Status::kInvalidValue);
  if (p->srcArray != nullptr || p->dstArray != nullptr)
    return error_state::Finish(Status::kNotSupported);
  const size_t target_slice = p->dstPtr.pitch * p->dstPtr.ysize;
  const size_t source_slice = p->srcPtr.pitch * p->srcPtr.ysize;
  auto* target = static_cast<char*>(p->dstPtr.ptr) + p->dstPos.z * target_slice +
                 p->dstPos.y * p->dstPtr.pitch + p->dstPos.x;
  const auto* source = static_cast<const char*>(p->srcPtr.ptr) + p->srcPos.z * source_slice +
                       p->srcPos.y * p->srcPtr.pitch + p->srcPos.x;
  return Run({.target = target,
              .source = source,
              .shape = {.row_bytes = p->extent.width,
                        .rows = p->extent.height,
                        .slices = p->extent.depth,
                        .target_pitch = p->dstPtr.pitch,
                        .target_slice_pitch = target_slice,
                        .source_pitch = p->srcPtr.pitch,
                        .source_slice_pitch = source_slice}},
             kind, mode, stream);
}

// The device address of a registered variable plus an offset; null when the range is not inside it.
char* SymbolAddress(const void* symbol, size_t count, size_t offset) {
  gpu::Variable variable;
  if (gpu::FindHostVariable(symbol, gpu::CurrentDevice(), &variable) != Status::kSuccess) {
    return nullptr;
  }
  if (offset > variable.bytes || count > variable.bytes - offset) return nullptr;
  return reinterpret_cast<char*>(variable.address) + offset;
}

gpu::FillRequest Bytes(void* target, int value, size_t count) {
  return {.target = target,
          .value = static_cast<unsigned char>(value),
          .element_bytes = 1,
          .elements = count};
}

}  // namespace

cudaError_t Copy(void* target, const void* source, size_t count, cudaMemcpyKind kind) noexcept {
  return Run(Flat(target, source, count), kind, CopyMode::kBlocking, nullptr);
}

cudaError_t CopyAsync(void* target, const void* source, size_t count, cudaMemcpyKind kind,
                      cudaStream_t stream) noexcept {
  return Run(Flat(target, source, count), kind, CopyMode::kAsync, stream);
}

cudaError_t Copy2D(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                   size_t width, size_t height, cudaMemcpyKind kind) noexcept {
  return RunPlane({target, target_pitch, source, source_pitch, width, height}, kind,
                  CopyMode::kBlocking, nullptr);
}

cudaError_t Copy2DAsync(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                        size_t width, size_t height, cudaMemcpyKind kind,
                        cudaStream_t stream) noexcept {
  return RunPlane({target, target_pitch, source, source_pitch, width, height}, kind,
                  CopyMode::kAsync, stream);
}

cudaError_t Copy3D(const cudaMemcpy3DParms* parameters) noexcept {
  const cudaMemcpyKind kind = parameters == nullptr ? cudaMemcpyDefault : parameters->kind;
  return RunVolume(parameters, kind, CopyMode::kBlocking, nullptr);
}

cudaError_t Copy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) noexcept {
  const cudaMemcpyKind kind = parameters == nullptr ? cudaMemcpyDefault : parameters->kind;
  return RunVolume(parameters, kind, CopyMode::kAsync, stream);
}

cudaError_t Copy3DPeer(const cudaMemcpy3DPeerParms* parameters) noexcept {
  return RunVolume(parameters, cudaMemcpyDefault, CopyMode::kBlocking, nullptr);
}

cudaError_t Copy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) noexcept {
  return RunVolume(parameters, cudaMemcpyDefault, CopyMode::kAsync, stream);
}

cudaError_t CopyPeer(void* target, int, const void* source, int, size_t count) noexcept {
  return Run(Flat(target, source, count), cudaMemcpyDefault, CopyMode::kBlocking, nullptr);
}

cudaError_t CopyPeerAsync(void* target, int, const void* source, int, size_t count,
                          cudaStream_t stream) noexcept {
  return Run(Flat(target, source, count), cudaMemcpyDefault, CopyMode::kAsync, stream);
}

cudaError_t CopyBatchAsync(void* const* targets, const void* const* sources, const size_t* sizes,
                           size_t count, cudaMemcpyAttributes*, size_t*, size_t,
                           cudaStream_t stream) noexcept {
  if (count == 0 || targets == nullptr || sources == nullptr || sizes == nullptr) {
    return error_state::Finish(Status::kInvalidValue);
  }
  for (size_t i = 0; i < count; ++i) {
    const cudaError_t code = CopyAsync(targets[i], sources[i], sizes[i], cudaMemcpyDefault, stream);
    if (code != cudaSuccess) return code;
  }
  return cudaSuccess;
}

cudaError_t CopyWithAttributesAsync(void* target, const void* source, size_t size,
                                    cudaMemcpyAttributes*, cudaStream_t stream) noexcept {
  return CopyAsync(target, source, size, cudaMemcpyDefault, stream);
}

cudaError_t CopyToSymbol(const void* symbol, const void* source, size_t count, size_t offset,
                         cudaMemcpyKind kind) noexcept {
  char* target = SymbolAddress(symbol, count, offset);
  if (target == nullptr) return error_state::Fail(cudaErrorInvalidSymbol);
  return Copy(target, source, count, kind);
}

cudaError_t CopyToSymbolAsync(const void* symbol, const void* source, size_t count, size_t offset,
                              cudaMemcpyKind kind, cudaStream_t stream) noexcept {
  char* target = SymbolAddress(symbol, count, offset);
  if (target == nullptr) return error_state::Fail(cudaErrorInvalidSymbol);
  return CopyAsync(target, source, count, kind, stream);
}

cudaError_t CopyFromSymbol(void* target, const void* symbol, size_t count, size_t offset,
                           cudaMemcpyKind kind) noexcept {
  const char* source = SymbolAddress(symbol, count, offset);
  if (source == nullptr) return error_state::Fail(cudaErrorInvalidSymbol);
  return Copy(target, source, count, kind);
}

cudaError_t CopyFromSymbolAsync(void* target, const void* symbol, size_t count, size_t offset,
                                cudaMemcpyKind kind, cudaStream_t stream) noexcept {
  const char* source = SymbolAddress(symbol, count, offset);
  if (source == nullptr) return error_state::Fail(cudaErrorInvalidSymbol);
  return CopyAsync(target, source, count, kind, stream);
}

cudaError_t Set(void* target, int value, size_t count) noexcept {
  return SetAsync(target, value, count, nullptr);
}

cudaError_t SetAsync(void* target, int value, size_t count, cudaStream_t stream) noexcept {
  return error_state::Finish(gpu::Fill(Bytes(target, value, count), stream));
}

cudaError_t Set2D(void* target, size_t pitch, int value, size_t width, size_t height) noexcept {
  return Set2DAsync(target, pitch, value, width, height, nullptr);
}

cudaError_t Set2DAsync(void* target, size_t pitch, int value, size_t width, size_t height,
                       cudaStream_t stream) noexcept {
  gpu::FillRequest request = Bytes(target, value, width);
  request.rows = height;
  request.pitch = pitch;
  return error_state::Finish(gpu::Fill(request, stream));
}

cudaError_t Set3D(cudaPitchedPtr target, int value, cudaExtent extent) noexcept {
  return Set3DAsync(target, value, extent, nullptr);
}

cudaError_t Set3DAsync(cudaPitchedPtr target, int value, cudaExtent extent,
                       cudaStream_t stream) noexcept {
  gpu::FillRequest request = Bytes(target.ptr, value, extent.width);
  request.rows = extent.height;
  request.slices = extent.depth;
  request.pitch = target.pitch;
  request.slice_pitch = target.pitch * target.ysize;
  return error_state::Finish(gpu::Fill(request, stream));
}

cudaError_t Copy3DWithAttributesAsync(cudaMemcpy3DBatchOp* operation, unsigned long long,
                                      cudaStream_t stream) noexcept {
  if (operation == nullptr) return error_state::Finish(Status::kInvalidValue);
  if (operation->src.type != cudaMemcpyOperandTypePointer ||
      operation->dst.type != cudaMemcpyOperandTypePointer) {
    return error_state::Finish(Status::kNotSupported);
  }
  const auto& source = operation->src.op.ptr;
  const auto& target = operation->dst.op.ptr;
  const cudaExtent& extent = operation->extent;
  const size_t source_pitch = source.rowLength == 0 ? extent.width : source.rowLength;
  const size_t target_pitch = target.rowLength == 0 ? extent.width : target.rowLength;
  const size_t source_rows = source.layerHeight == 0 ? extent.height : source.layerHeight;
  const size_t target_rows = target.layerHeight == 0 ? extent.height : target.layerHeight;
  return Run({.target = target.ptr,
              .source = source.ptr,
              .shape = {.row_bytes = extent.width,
                        .rows = extent.height,
                        .slices = extent.depth,
                        .target_pitch = target_pitch,
                        .target_slice_pitch = target_pitch * target_rows,
                        .source_pitch = source_pitch,
                        .source_slice_pitch = source_pitch * source_rows}},
             cudaMemcpyDefault, CopyMode::kAsync, stream);
}

cudaError_t Copy3DBatchAsync(size_t count, cudaMemcpy3DBatchOp* operations,
                             unsigned long long flags, cudaStream_t stream) noexcept {
  if (count == 0 || operations == nullptr) return error_state::Finish(Status::kInvalidValue);
  for (size_t i = 0; i < count; ++i) {
    const cudaError_t code = Copy3DWithAttributesAsync(&operations[i], flags, stream);
    if (code != cudaSuccess) return code;
  }
  return cudaSuccess;
}

cudaError_t PrefetchAsync(const void* pointer, size_t count, cudaMemLocation location, unsigned,
                          cudaStream_t stream) noexcept {
  const bool to_device = location.type == cudaMemLocationTypeDevice;
  return error_state::Finish(gpu::Prefetch(pointer, count, to_device ? location.id : -1, stream));
}

}  // namespace eidolon::shim::cuda_runtime::copy
