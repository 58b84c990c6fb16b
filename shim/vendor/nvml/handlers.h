// The functions that answer libnvidia-ml.so.1's calls, named in nvml.policy: includes the topic
// headers.
#pragma once

#include "shim/vendor/nvml/device.h"
#include "shim/vendor/nvml/library_state.h"
#include "shim/vendor/nvml/sensors.h"
#include "shim/vendor/nvml/topology.h"
#include "shim/vendor/nvml/usage.h"
