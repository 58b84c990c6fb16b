// Matrix products of the math libraries as the plane of values sees them (compute/product.h).
#pragma once

#include <cstdint>
#include <functional>

#include "shim/compute/gemm.h"
#include "shim/gpu/stream/stream.h"

namespace eidolon::shim::library {

// Of a cudaDataType_t; kNone for what is not computed with.
compute::Element ElementOf(std::uint32_t type);

// A scalar argument of a product: read now when it is on the host, or with the product.
compute::ProductScalar ScalarOf(const void* scalar, std::uint32_t type, bool on_device);

// The stream's last work is this product, now or at every replay of the graph that it is captured
// into. `forget` says what becomes unknown when its values are not computed.
void AfterProduct(gpu::StreamHandle stream, const compute::Product& product,
                  std::function<void()> forget);

}  // namespace eidolon::shim::library
