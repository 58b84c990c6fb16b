// The functions that answer libcuda.so.1's calls, named in cuda_driver.policy: includes the topic
// headers.
#pragma once

#include "shim/vendor/cuda_driver/capture.h"
#include "shim/vendor/cuda_driver/context.h"
#include "shim/vendor/cuda_driver/copy.h"
#include "shim/vendor/cuda_driver/device.h"
#include "shim/vendor/cuda_driver/entry_point.h"
#include "shim/vendor/cuda_driver/error_log.h"
#include "shim/vendor/cuda_driver/export_table.h"
#include "shim/vendor/cuda_driver/function.h"
#include "shim/vendor/cuda_driver/graph.h"
#include "shim/vendor/cuda_driver/jit.h"
#include "shim/vendor/cuda_driver/launch.h"
#include "shim/vendor/cuda_driver/memory.h"
#include "shim/vendor/cuda_driver/module.h"
#include "shim/vendor/cuda_driver/pool.h"
#include "shim/vendor/cuda_driver/start.h"
#include "shim/vendor/cuda_driver/stream.h"
#include "shim/vendor/cuda_driver/tensor_map.h"
#include "shim/vendor/cuda_driver/virtual_memory.h"
