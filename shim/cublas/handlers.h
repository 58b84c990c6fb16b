// The functions that answer libcublas.so.13's calls, named in cublas.policy: includes the topic
// headers.
#pragma once

#include "shim/cublas/batched_lapack.h"
#include "shim/cublas/gemm.h"
#include "shim/cublas/grouped_gemm.h"
#include "shim/cublas/handle.h"
#include "shim/cublas/level1.h"
#include "shim/cublas/level2.h"
#include "shim/cublas/level3.h"
