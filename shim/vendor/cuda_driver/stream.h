// Streams and events as the driver shows them.
#pragma once

#include <cuda.h>

namespace eidolon::shim::cuda_driver::stream {

CUresult Create(CUstream* stream, unsigned flags) noexcept;
CUresult CreateWithPriority(CUstream* stream, unsigned flags, int priority) noexcept;
CUresult Destroy(CUstream stream) noexcept;
CUresult Synchronize(CUstream stream) noexcept;
CUresult Query(CUstream stream) noexcept;
CUresult WaitEvent(CUstream stream, CUevent event, unsigned flags) noexcept;
CUresult LaunchHostFunc(CUstream stream, CUhostFn function, void* data) noexcept;
CUresult LaunchHostFuncV2(CUstream stream, CUhostFn function, void* data, unsigned mode) noexcept;
CUresult AddCallback(CUstream stream, CUstreamCallback callback, void* data,
                     unsigned flags) noexcept;
CUresult GetContext(CUstream stream, CUcontext* context) noexcept;
CUresult GetContextV2(CUstream stream, CUcontext* context, CUgreenCtx* green) noexcept;
CUresult GetDevice(CUstream stream, CUdevice* device) noexcept;
CUresult GetFlags(CUstream stream, unsigned* flags) noexcept;
CUresult GetId(CUstream stream, unsigned long long* id) noexcept;
CUresult GetPriority(CUstream stream, int* priority) noexcept;
CUresult GetAttribute(CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue* value) noexcept;
CUresult SetAttribute(CUstream stream, CUstreamAttrID attribute,
                      const CUstreamAttrValue* value) noexcept;
CUresult CopyAttributes(CUstream target, CUstream source) noexcept;

}  // namespace eidolon::shim::cuda_driver::stream

namespace eidolon::shim::cuda_driver::event {

CUresult Create(CUevent* event, unsigned flags) noexcept;
CUresult Destroy(CUevent event) noexcept;
CUresult Record(CUevent event, CUstream stream) noexcept;
CUresult RecordWithFlags(CUevent event, CUstream stream, unsigned flags) noexcept;
CUresult Query(CUevent event) noexcept;
CUresult Synchronize(CUevent event) noexcept;
CUresult ElapsedTime(float* milliseconds, CUevent start, CUevent end) noexcept;

}  // namespace eidolon::shim::cuda_driver::event
