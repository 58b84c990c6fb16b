// Attributes that a program sets on a stream (access policy, synchronisation policy, memory
// domains). They are kept and given back; timing ignores them. The value is the vendor's union, 64
// bytes.
#pragma once

#include <cstddef>

#include "shim/gpu/status.h"
#include "shim/gpu/stream/submit.h"

namespace eidolon::shim::gpu {

inline constexpr std::size_t kStreamAttributeBytes = 64;

// A value never set reads as zeros, the priority (number 8) as the stream's.
Status GetStreamAttribute(StreamHandle stream, int attribute, void* value) noexcept;
Status SetStreamAttribute(StreamHandle stream, int attribute, const void* value) noexcept;
Status CopyStreamAttributes(StreamHandle target, StreamHandle source) noexcept;

}  // namespace eidolon::shim::gpu
