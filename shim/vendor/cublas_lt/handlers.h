// The functions that answer libcublasLt.so.13's calls, named in cublas_lt.policy: includes the
// topic headers.
#pragma once

#include "shim/vendor/cublas_lt/algorithm.h"
#include "shim/vendor/cublas_lt/descriptor.h"
#include "shim/vendor/cublas_lt/library_state.h"
#include "shim/vendor/cublas_lt/matmul.h"
