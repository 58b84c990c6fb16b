// GEMMs of the math libraries as the plane of values sees them (compute/gemm.h).
#pragma once

#include <cstdint>
#include <functional>

#include "shim/gpu/stream/stream.h"
#include "shim/value/compute/gemm.h"

namespace eidolon::shim::library {

// Returns the element of a cudaDataType_t; kNone for types that are not computed with.
compute::Element ElementOf(std::uint32_t type);

// A scalar argument of a GEMM: read now when it is on the host, or with the GEMM.
compute::GemmScalar ScalarOf(const void* scalar, std::uint32_t type, bool on_device);

// The stream's last work is this GEMM, now or at every replay of the graph that it is captured
// into. `forget` says what becomes unknown when its values are not computed.
void AfterGemm(gpu::StreamHandle stream, const compute::Gemm& gemm, std::function<void()> forget);

}  // namespace eidolon::shim::library
