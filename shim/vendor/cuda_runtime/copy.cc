// The runtime names a direction with each copy and has codes of its own for a wrong one and for a
// wrong pitch, so these are checked here and before anything else; whether the bytes are there is
// checked in gpu/copy. The first failure of a batch ends it, and copies before it have happened. A
// symbol is the host address of a variable: it is looked up on the current device, and the range is
// checked against the variable's size.
#include "shim/vendor/cuda_runtime/copy.h"

#include <optional>

#include "shim/gpu/context/context.h"
#include "shim/gpu/copy/copy.h"
#include "shim/gpu/copy/pitched_copy.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/module/host_symbols.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cuda_runtime/error_state.h"

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

// Runs the request; all copies end here.
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

bool IsPitch(size_t pitch, size_t width) { return width <= pitch && pitch <= gpu::kPitchMax; }

cudaError_t RunPlane(const Plane& plane, cudaMemcpyKind kind, CopyMode mode, cudaStream_t stream) {
  if (!IsPitch(plane.target_pitch, plane.width) || !IsPitch(plane.source_pitch, plane.width)) {
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

gpu::PitchedSide SideOf(const cudaPitchedPtr& pitched, const cudaPos& at) {
  return {pitched.ptr, pitched.pitch, pitched.ysize, at.x, at.y, at.z};
}

// Both kinds of 3D parameters have the same fields.
template <typename Parameters>
cudaError_t RunVolume(const Parameters* p, cudaMemcpyKind kind, CopyMode mode,
                      cudaStream_t stream) {
  if (p == nullptr) return error_state::Finish(Status::kInvalidValue);
  if (p->srcArray != nullptr || p->dstArray != nullptr)
    return error_state::Finish(Status::kNotSupported);
  const gpu::CopyBox box = {p->extent.width, p->extent.height, p->extent.depth};
  if (box.width == 0 || box.height == 0 || box.depth == 0) {
    return Run(Flat(nullptr, nullptr, 0), kind, mode, stream);
  }
  if (p->dstPtr.pitch < box.width || p->srcPtr.pitch < box.width) {
    return error_state::Fail(cudaErrorInvalidPitchValue);
  }
  const auto request =
      gpu::MakePitchedCopy(SideOf(p->dstPtr, p->dstPos), SideOf(p->srcPtr, p->srcPos), box);
  if (!request.has_value()) return error_state::Finish(Status::kInvalidValue);
  return Run(*request, kind, mode, stream);
}

// The device address of a part of a registered variable.
cudaError_t FindInSymbol(const void* symbol, size_t count, size_t offset, char** address) {
  gpu::Variable variable;
  if (gpu::FindHostVariable(symbol, gpu::CurrentDevice(), &variable) != Status::kSuccess) {
    return error_state::Fail(cudaErrorInvalidSymbol);
  }
  if (offset > variable.bytes || count > variable.bytes - offset) {
    return error_state::Fail(cudaErrorInvalidValue);
  }
  *address = reinterpret_cast<char*>(variable.address) + offset;
  return cudaSuccess;
}

bool AreDevices(int a, int b) {
  const int count = gpu::DeviceCount();
  return a >= 0 && a < count && b >= 0 && b < count;
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

cudaError_t CopyPeer(void* target, int target_device, const void* source, int source_device,
                     size_t count) noexcept {
  if (!AreDevices(target_device, source_device)) return error_state::Fail(cudaErrorInvalidDevice);
  return Run(Flat(target, source, count), cudaMemcpyDefault, CopyMode::kBlocking, nullptr);
}

cudaError_t CopyPeerAsync(void* target, int target_device, const void* source, int source_device,
                          size_t count, cudaStream_t stream) noexcept {
  if (!AreDevices(target_device, source_device)) return error_state::Fail(cudaErrorInvalidDevice);
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
  char* target = nullptr;
  const cudaError_t found = FindInSymbol(symbol, count, offset, &target);
  if (found != cudaSuccess) return found;
  return Copy(target, source, count, kind);
}

cudaError_t CopyToSymbolAsync(const void* symbol, const void* source, size_t count, size_t offset,
                              cudaMemcpyKind kind, cudaStream_t stream) noexcept {
  char* target = nullptr;
  const cudaError_t found = FindInSymbol(symbol, count, offset, &target);
  if (found != cudaSuccess) return found;
  return CopyAsync(target, source, count, kind, stream);
}

cudaError_t CopyFromSymbol(void* target, const void* symbol, size_t count, size_t offset,
                           cudaMemcpyKind kind) noexcept {
  char* source = nullptr;
  const cudaError_t found = FindInSymbol(symbol, count, offset, &source);
  if (found != cudaSuccess) return found;
  return Copy(target, source, count, kind);
}

cudaError_t CopyFromSymbolAsync(void* target, const void* symbol, size_t count, size_t offset,
                                cudaMemcpyKind kind, cudaStream_t stream) noexcept {
  char* source = nullptr;
  const cudaError_t found = FindInSymbol(symbol, count, offset, &source);
  if (found != cudaSuccess) return found;
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
  const bool overflows = __builtin_mul_overflow(target.pitch, target.ysize, &request.slice_pitch);
  if (overflows && extent.depth > 1) return error_state::Finish(Status::kInvalidValue);
  return error_state::Finish(gpu::Fill(request, stream));
}

cudaError_t Copy3DWithAttributesAsync(cudaMemcpy3DBatchOp* operation, unsigned long long,
                                      cudaStream_t stream) noexcept {
  if (operation == nullptr) return error_state::Finish(Status::kInvalidValue);
  if (operation->src.type != cudaMemcpyOperandTypePointer ||
      operation->dst.type != cudaMemcpyOperandTypePointer) {
    return error_state::Finish(Status::kNotSupported);
  }
  const gpu::CopyBox box = {operation->extent.width, operation->extent.height,
                            operation->extent.depth};
  const auto side = [&](const auto& operand) -> gpu::PitchedSide {
    const auto& layout = operand.op.ptr;
    return {.begin = layout.ptr,
            .pitch = layout.rowLength == 0 ? box.width : layout.rowLength,
            .height = layout.layerHeight == 0 ? box.height : layout.layerHeight};
  };
  const auto request = gpu::MakePitchedCopy(side(operation->dst), side(operation->src), box);
  if (!request.has_value()) return error_state::Finish(Status::kInvalidValue);
  return Run(*request, cudaMemcpyDefault, CopyMode::kAsync, stream);
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
