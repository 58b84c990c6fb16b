// The few EGL types that CUDA's interoperability headers mention.
#pragma once

#include <stdint.h>

typedef int32_t EGLint;
typedef void* EGLSyncKHR;
typedef void* EGLImageKHR;
typedef void* EGLStreamKHR;
