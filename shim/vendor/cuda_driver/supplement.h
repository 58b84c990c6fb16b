// Driver functions whose header (cudaProfiler.h) the stock packages do not bring. Read by apigen as
// C.
#pragma once

#include <cuda.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum CUoutput_mode_enum { CU_OUT_KEY_VALUE_PAIR = 0, CU_OUT_CSV = 1 } CUoutput_mode;

CUresult CUDAAPI cuProfilerInitialize(const char* config_file, const char* output_file,
                                      CUoutput_mode mode);
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);

#ifdef __cplusplus
}
#endif
