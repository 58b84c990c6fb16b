// cuFFT's entry points around plans: making them by every spelling of the sizes, asking for their
// work area, running them. Embedding strides do not change how much is transformed, but where it is
// written.
#pragma once

#include <cufftXt.h>

#include <cstddef>

namespace eidolon::shim::cufft {

namespace description {

cufftResult GetVersion(int* version);
cufftResult GetProperty(libraryPropertyType type, int* value);

}  // namespace description

namespace planning {

cufftResult Create(cufftHandle* handle);
cufftResult Destroy(cufftHandle handle);
cufftResult SetStream(cufftHandle handle, cudaStream_t stream);
cufftResult SetAutoAllocation(cufftHandle handle, int on);
cufftResult SetWorkArea(cufftHandle handle, void* area);
cufftResult GetSize(cufftHandle handle, std::size_t* work_bytes);

cufftResult Make1d(cufftHandle handle, int nx, cufftType type, int batch, std::size_t* work_bytes);
cufftResult Make2d(cufftHandle handle, int nx, int ny, cufftType type, std::size_t* work_bytes);
cufftResult Make3d(cufftHandle handle, int nx, int ny, int nz, cufftType type,
                   std::size_t* work_bytes);
cufftResult MakeMany(cufftHandle handle, int rank, int* n, int* in_embed, int in_stride,
                     int in_distance, int* out_embed, int out_stride, int out_distance,
                     cufftType type, int batch, std::size_t* work_bytes);
cufftResult MakeMany64(cufftHandle handle, int rank, long long* n, long long* in_embed,
                       long long in_stride, long long in_distance, long long* out_embed,
                       long long out_stride, long long out_distance, cufftType type,
                       long long batch, std::size_t* work_bytes);
cufftResult XtMakeMany(cufftHandle handle, int rank, long long* n, long long* in_embed,
                       long long in_stride, long long in_distance, cudaDataType input,
                       long long* out_embed, long long out_stride, long long out_distance,
                       cudaDataType output, long long batch, std::size_t* work_bytes,
                       cudaDataType execution);

// Create and make at once.
cufftResult Plan1d(cufftHandle* handle, int nx, cufftType type, int batch);
cufftResult Plan2d(cufftHandle* handle, int nx, int ny, cufftType type);
cufftResult Plan3d(cufftHandle* handle, int nx, int ny, int nz, cufftType type);
cufftResult PlanMany(cufftHandle* handle, int rank, int* n, int* in_embed, int in_stride,
                     int in_distance, int* out_embed, int out_stride, int out_distance,
                     cufftType type, int batch);

// The work area a plan would need. The first argument of the GetSize calls is a plan, else none.
cufftResult Estimate1d(int nx, cufftType type, int batch, std::size_t* work_bytes);
cufftResult Estimate2d(int nx, int ny, cufftType type, std::size_t* work_bytes);
cufftResult Estimate3d(int nx, int ny, int nz, cufftType type, std::size_t* work_bytes);
cufftResult EstimateMany(int rank, int* n, int*, int, int, int*, int, int, cufftType type,
                         int batch, std::size_t* work_bytes);
cufftResult GetSize1d(cufftHandle handle, int nx, cufftType type, int batch,
                      std::size_t* work_bytes);
cufftResult GetSize2d(cufftHandle handle, int nx, int ny, cufftType type, std::size_t* work_bytes);
cufftResult GetSize3d(cufftHandle handle, int nx, int ny, int nz, cufftType type,
                      std::size_t* work_bytes);
cufftResult GetSizeMany(cufftHandle handle, int rank, int* n, int*, int, int, int*, int, int,
                        cufftType type, int batch, std::size_t* work_bytes);
cufftResult GetSizeMany64(cufftHandle handle, int rank, long long* n, long long*, long long,
                          long long, long long*, long long, long long, cufftType type,
                          long long batch, std::size_t* work_bytes);
cufftResult XtGetSizeMany(cufftHandle handle, int rank, long long* n, long long*, long long,
                          long long, cudaDataType input, long long*, long long, long long,
                          cudaDataType output, long long batch, std::size_t* work_bytes,
                          cudaDataType execution);

}  // namespace planning

namespace execution {

cufftResult ExecC2C(cufftHandle handle, cufftComplex* in, cufftComplex* out, int direction);
cufftResult ExecZ2Z(cufftHandle handle, cufftDoubleComplex* in, cufftDoubleComplex* out,
                    int direction);
cufftResult ExecR2C(cufftHandle handle, cufftReal* in, cufftComplex* out);
cufftResult ExecD2Z(cufftHandle handle, cufftDoubleReal* in, cufftDoubleComplex* out);
cufftResult ExecC2R(cufftHandle handle, cufftComplex* in, cufftReal* out);
cufftResult ExecZ2D(cufftHandle handle, cufftDoubleComplex* in, cufftDoubleReal* out);
cufftResult XtExec(cufftHandle handle, void* in, void* out, int direction);

}  // namespace execution

}  // namespace eidolon::shim::cufft
