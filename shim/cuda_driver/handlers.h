// The functions that answer libcuda.so.1's calls, named in cuda_driver.policy: includes the topic
// headers.
#pragma once

#include "shim/cuda_driver/capture.h"
#include "shim/cuda_driver/entry_point.h"
#include "shim/cuda_driver/function.h"
#include "shim/cuda_driver/graph.h"
#include "shim/cuda_driver/launch.h"
#include "shim/cuda_driver/module.h"
