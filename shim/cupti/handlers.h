// The functions that answer libcupti.so.13's calls, named in cupti.policy: includes the topic
// headers.
#pragma once

#include "shim/cupti/activity.h"
#include "shim/cupti/nvtx.h"
#include "shim/cupti/subscription.h"
