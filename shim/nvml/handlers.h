// The functions that answer libnvidia-ml.so.1's calls, named in nvml.policy: includes the topic
// headers.
#pragma once

#include "shim/nvml/device.h"
#include "shim/nvml/library_state.h"
#include "shim/nvml/topology.h"
#include "shim/nvml/usage.h"
