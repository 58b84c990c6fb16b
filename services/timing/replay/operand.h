// Operands of library calls in a replay: memory of the worker's own, filled with small numbers of
// random signs and digits.
//
// Zeros would draw less power than a training step's numbers, and so run at another clock;
// infinities and denormal numbers may take slower paths. All numbers are between 1/8 and 1/4 in
// size, so that GEMMs of them, and sums over thousands, stay finite in every type; scaling
// factors are 1.
#pragma once

#include <cuda.h>
#include <library_types.h>

#include <array>
#include <cstdint>
#include <utility>

#include "services/base/error.h"
#include "services/base/sim_time.h"
#include "services/timing/replay/driver.h"

namespace eidolon::timing::replay {

// Contents with which an operand is filled.
enum class Filling {
  kRandom,
  kOnes,  // Scaling factors.
};

// Owns device memory. The driver outlives it; the context is current.
class Operand {
 public:
  Operand() = default;
  // Room for `elements` of a cudaDataType_t, filled, when this returns. Refuses types that it
  // cannot fill, and what no memory holds. Nothing to allocate gives an empty operand.
  static base::Result<Operand> Make(const Driver& driver, std::uint32_t type, base::Wide elements,
                                    CUstream stream, Filling filling = Filling::kRandom);
  Operand(Operand&& other) noexcept { *this = std::move(other); }
  Operand& operator=(Operand&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(address_, other.address_);
    return *this;
  }
  ~Operand();

  void* pointer() const { return reinterpret_cast<void*>(address_); }

 private:
  const Driver* driver_ = nullptr;
  CUdeviceptr address_ = 0;
};

// Bits of an element of a cudaDataType_t; 0 for types that operands do not have.
std::uint64_t BitsOf(std::uint32_t type);

// alpha or beta on the host.
struct Scalar {
  alignas(8) std::array<unsigned char, 8> bytes{};
  const void* data() const { return bytes.data(); }
};
// 1 as a cudaDataType_t of whole bytes; 0 for types that operands do not have.
Scalar OneOf(std::uint32_t type);
// 1 or 0 in the type that a cublasComputeType_t scales with.
base::Result<Scalar> ScalarOf(std::uint32_t compute_type, bool one);
// Returns that type, a cudaDataType_t. Requires: ScalarOf knows the compute type.
std::uint32_t ScaleTypeOf(std::uint32_t compute_type);

}  // namespace eidolon::timing::replay
