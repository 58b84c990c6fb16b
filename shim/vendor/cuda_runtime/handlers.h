// The functions that answer libcudart.so.13's calls, named in cuda_runtime.policy: includes the
// topic headers.
#pragma once

#include "shim/vendor/cuda_runtime/capture.h"
#include "shim/vendor/cuda_runtime/copy.h"
#include "shim/vendor/cuda_runtime/device.h"
#include "shim/vendor/cuda_runtime/error.h"
#include "shim/vendor/cuda_runtime/error_state.h"
#include "shim/vendor/cuda_runtime/event.h"
#include "shim/vendor/cuda_runtime/function.h"
#include "shim/vendor/cuda_runtime/graph.h"
#include "shim/vendor/cuda_runtime/launch.h"
#include "shim/vendor/cuda_runtime/library.h"
#include "shim/vendor/cuda_runtime/memory.h"
#include "shim/vendor/cuda_runtime/pool.h"
#include "shim/vendor/cuda_runtime/registration.h"
#include "shim/vendor/cuda_runtime/stream.h"
