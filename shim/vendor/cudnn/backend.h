// cuDNN's backend (graph) interface: descriptors stored and echoed, one engine for every graph,
// execution as one piece of work.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>

namespace eidolon::shim::cudnn::backend {

cudnnStatus_t CreateDescriptor(cudnnBackendDescriptorType_t type,
                               cudnnBackendDescriptor_t* descriptor);
cudnnStatus_t DestroyDescriptor(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t Finalize(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t SetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                           cudnnBackendAttributeType_t type, std::int64_t count,
                           const void* elements);
cudnnStatus_t GetAttribute(const cudnnBackendDescriptor_t descriptor,
                           cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                           std::int64_t requested, std::int64_t* count, void* elements);
cudnnStatus_t Execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                      cudnnBackendDescriptor_t pack);
cudnnStatus_t GetPlanWorkspaceSize(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                   cudnnBackendDescriptor_t pack, std::size_t* bytes);

}  // namespace eidolon::shim::cudnn::backend
