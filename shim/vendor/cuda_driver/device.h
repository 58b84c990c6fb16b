// Devices as the driver shows them.
#pragma once

#include <cuda.h>

namespace eidolon::shim::cuda_driver::device {

CUresult Get(CUdevice* device, int ordinal) noexcept;
CUresult GetCount(int* count) noexcept;
CUresult GetName(char* name, int length, CUdevice device) noexcept;
CUresult GetUuid(CUuuid* uuid, CUdevice device) noexcept;
CUresult GetLuid(char* luid, unsigned* mask, CUdevice device) noexcept;
CUresult GetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) noexcept;
CUresult GetProperties(CUdevprop* properties, CUdevice device) noexcept;
CUresult ComputeCapability(int* major, int* minor, CUdevice device) noexcept;
CUresult TotalMemory(size_t* bytes, CUdevice device) noexcept;
CUresult GetPciBusId(char* text, int length, CUdevice device) noexcept;
CUresult GetByPciBusId(CUdevice* device, const char* text) noexcept;
CUresult CanAccessPeer(int* can, CUdevice device, CUdevice peer) noexcept;
CUresult GetPeerAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice device,
                          CUdevice peer) noexcept;

}  // namespace eidolon::shim::cuda_driver::device
