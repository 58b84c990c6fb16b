// The functions that answer libcusolver.so.12's calls, named in cusolver.policy: includes the topic
// headers.
#pragma once

#include "shim/cusolver/factorisation.h"
#include "shim/cusolver/generic.h"
#include "shim/cusolver/handle.h"
#include "shim/cusolver/spectrum.h"
