// Converts a dense routine's arguments into counted work. Operation counts are LAPACK's leading
// terms; status words read 0, because routines are assumed to succeed.
#pragma once

#include <cusolverDn.h>

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "shim/vendor/library/element_type.h"

namespace eidolon::shim::cusolver {

struct Output {
  const void* address = nullptr;
  std::int64_t elements = 0;  // Of the routine's type.
};

struct Routine {
  std::string_view name;  // "cusolver.getrf".
  cudaDataType_t type = CUDA_R_32F;
  double multiply_adds = 0;                     // Of the element type.
  double elements = 0;                          // Read or written in device memory.
  std::initializer_list<std::int64_t> numbers;  // Sizes first; none may be negative.
  std::initializer_list<Output> outputs;
  int* info = nullptr;  // On the device.
  std::int64_t info_count = 1;
};

cusolverStatus_t Run(cusolverDnHandle_t handle, const Routine& routine);

// Answers a size query: LAPACK's blocked workspaces, at least one element.
template <typename Int>
cusolverStatus_t TellSize(cusolverDnHandle_t handle, double elements, Int* size);
// The same in bytes, for the routines without a type prefix; nothing is needed on the host.
cusolverStatus_t TellBytes(cusolverDnHandle_t handle, cudaDataType_t type, double elements,
                           std::size_t* device_bytes, std::size_t* host_bytes);

inline constexpr double kBlock = 64;  // Columns that blocked algorithms work on at a time.

// Whether eigen- or singular vectors are wanted triples the work, roughly.
inline double VectorFactor(bool wanted) { return wanted ? 3 : 1; }

}  // namespace eidolon::shim::cusolver
