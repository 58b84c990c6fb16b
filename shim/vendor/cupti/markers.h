// Markers and names of NVTX as activity records. While nobody wants them, a call pays a load.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "shim/vendor/cupti/supplement.h"

namespace eidolon::shim::cupti::markers {

// Kept for good: records point to it.
const std::string* Keep(std::string text);

// Attributes beside a name; either may be null. A domain is the address of its name.
struct Attributes {
  nvtxDomainHandle_t domain = nullptr;
  const nvtxEventAttributes_t* event = nullptr;
};

// Ranges that nest on their thread, each in its domain.
void Push(std::uint64_t id, std::string_view name, const Attributes& attributes) noexcept;
void Pop(nvtxDomainHandle_t domain) noexcept;
// Ranges that end anywhere.
void Start(std::uint64_t id, std::string_view name, const Attributes& attributes) noexcept;
void End(std::uint64_t id, nvtxDomainHandle_t domain) noexcept;
void Mark(std::uint64_t id, std::string_view name, const Attributes& attributes) noexcept;

void NameThread(std::uint32_t thread, std::string_view name) noexcept;
void NameDevice(int device, std::string_view name) noexcept;
void NameContext(CUcontext context, std::string_view name) noexcept;
void NameStream(CUstream stream, std::string_view name) noexcept;

}  // namespace eidolon::shim::cupti::markers
