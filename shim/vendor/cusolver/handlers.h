// The functions that answer libcusolver.so.12's calls, named in cusolver.policy: includes the topic
// headers.
#pragma once

#include "shim/vendor/cusolver/factorisation.h"
#include "shim/vendor/cusolver/generic.h"
#include "shim/vendor/cusolver/handle.h"
#include "shim/vendor/cusolver/spectrum.h"
