// The functions that answer libcublasLt.so.13's calls, named in cublas_lt.policy: includes the
// topic headers.
#pragma once

namespace eidolon::shim::cublas_lt {}
