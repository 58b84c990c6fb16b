// The functions that answer libcublas.so.13's calls, named in cublas.policy: includes the topic
// headers.
#pragma once

#include "shim/vendor/cublas/batched_lapack.h"
#include "shim/vendor/cublas/gemm.h"
#include "shim/vendor/cublas/grouped_gemm.h"
#include "shim/vendor/cublas/handle.h"
#include "shim/vendor/cublas/level1.h"
#include "shim/vendor/cublas/level2.h"
#include "shim/vendor/cublas/level3.h"
