// The functions that answer libcudart.so.12's calls where they differ from libcudart.so.13's, named
// in cuda_runtime_12.policy: includes the topic headers.
#pragma once

#include "shim/vendor/cuda_runtime/handlers.h"
#include "shim/vendor/cuda_runtime_12/capture.h"
#include "shim/vendor/cuda_runtime_12/copy.h"
#include "shim/vendor/cuda_runtime_12/device.h"
#include "shim/vendor/cuda_runtime_12/graph.h"
#include "shim/vendor/cuda_runtime_12/memory.h"

namespace eidolon::shim::cuda_runtime_12 {

// Calls that have become the plain function in CUDA 13.
namespace newer = ::eidolon::shim::cuda_runtime;

}  // namespace eidolon::shim::cuda_runtime_12
