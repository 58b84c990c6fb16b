// Names and sentences of CUDA's error codes, as programs print and compare them. The runtime and
// the driver share the numbers; each names only those that it knows.
#pragma once

#include <cstdint>

namespace eidolon::shim::gpu {

struct ErrorText {
  std::uint32_t code;
  const char* runtime_name;  // cudaErrorInvalidValue; nullptr when the runtime lacks the code.
  const char* driver_name;   // CUDA_ERROR_INVALID_VALUE; nullptr when the driver lacks it.
  const char* text;
};

// nullptr for a code that neither has.
const ErrorText* FindErrorText(std::uint32_t code) noexcept;

}  // namespace eidolon::shim::gpu
