// The functions that answer libcupti.so.13's calls, named in cupti.policy: includes the topic
// headers.
#pragma once

#include "shim/vendor/cupti/activity.h"
#include "shim/vendor/cupti/nvtx.h"
#include "shim/vendor/cupti/subscription.h"
