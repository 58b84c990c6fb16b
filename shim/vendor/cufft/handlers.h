// The functions that answer libcufft.so.12's calls, named in cufft.policy: includes the topic
// headers.
#pragma once

#include "shim/vendor/cufft/transform.h"
