// The functions that answer libcudart.so.13's calls, named in cuda_runtime.policy: includes the
// topic headers.
#pragma once

#include "shim/cuda_runtime/capture.h"
#include "shim/cuda_runtime/copy.h"
#include "shim/cuda_runtime/device.h"
#include "shim/cuda_runtime/error.h"
#include "shim/cuda_runtime/error_state.h"
#include "shim/cuda_runtime/event.h"
#include "shim/cuda_runtime/function.h"
#include "shim/cuda_runtime/graph.h"
#include "shim/cuda_runtime/launch.h"
#include "shim/cuda_runtime/library.h"
#include "shim/cuda_runtime/memory.h"
#include "shim/cuda_runtime/pool.h"
#include "shim/cuda_runtime/registration.h"
#include "shim/cuda_runtime/stream.h"
