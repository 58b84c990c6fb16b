// The routines without a type prefix: 64-bit sizes, types as arguments, sizes in bytes.
#pragma once

#include <cusolverDn.h>

#include <cstddef>
#include <cstdint>

namespace eidolon::shim::cusolver::generic {

using Handle = cusolverDnHandle_t;
using Parameters = cusolverDnParams_t;
using Type = cudaDataType;

cusolverStatus_t GetrfSize(Handle handle, Parameters, std::int64_t m, std::int64_t n, Type type,
                           const void*, std::int64_t, Type, std::size_t* device, std::size_t* host);
cusolverStatus_t Getrf(Handle handle, Parameters, std::int64_t m, std::int64_t n, Type type,
                       void* a, std::int64_t lda, std::int64_t* pivots, Type, void*, std::size_t,
                       void*, std::size_t, int* info);
cusolverStatus_t Getrs(Handle handle, Parameters, cublasOperation_t trans, std::int64_t n,
                       std::int64_t nrhs, Type type, const void*, std::int64_t lda,
                       const std::int64_t*, Type, void* b, std::int64_t ldb, int* info);
cusolverStatus_t PotrfSize(Handle handle, Parameters, cublasFillMode_t, std::int64_t n, Type type,
                           const void*, std::int64_t, Type, std::size_t* device, std::size_t* host);
cusolverStatus_t Potrf(Handle handle, Parameters, cublasFillMode_t, std::int64_t n, Type type,
                       void* a, std::int64_t lda, Type, void*, std::size_t, void*, std::size_t,
                       int* info);
cusolverStatus_t Potrs(Handle handle, Parameters, cublasFillMode_t, std::int64_t n,
                       std::int64_t nrhs, Type type, const void*, std::int64_t lda, Type, void* b,
                       std::int64_t ldb, int* info);
cusolverStatus_t GeqrfSize(Handle handle, Parameters, std::int64_t m, std::int64_t n, Type type,
                           const void*, std::int64_t, Type, const void*, Type, std::size_t* device,
                           std::size_t* host);
cusolverStatus_t Geqrf(Handle handle, Parameters, std::int64_t m, std::int64_t n, Type type,
                       void* a, std::int64_t lda, Type, void* tau, Type, void*, std::size_t, void*,
                       std::size_t, int* info);
cusolverStatus_t SytrsSize(Handle handle, cublasFillMode_t, std::int64_t n, std::int64_t nrhs,
                           Type type, const void*, std::int64_t, const std::int64_t*, Type, void*,
                           std::int64_t, std::size_t* device, std::size_t* host);
cusolverStatus_t Sytrs(Handle handle, cublasFillMode_t, std::int64_t n, std::int64_t nrhs,
                       Type type, const void*, std::int64_t lda, const std::int64_t*, Type, void* b,
                       std::int64_t ldb, void*, std::size_t, void*, std::size_t, int* info);
cusolverStatus_t SyevdSize(Handle handle, Parameters, cusolverEigMode_t, cublasFillMode_t,
                           std::int64_t n, Type type, const void*, std::int64_t, Type, const void*,
                           Type, std::size_t* device, std::size_t* host);
cusolverStatus_t Syevd(Handle handle, Parameters, cusolverEigMode_t mode, cublasFillMode_t,
                       std::int64_t n, Type type, void* a, std::int64_t lda, Type, void* w, Type,
                       void*, std::size_t, void*, std::size_t, int* info);
cusolverStatus_t SyevBatchedSize(Handle handle, Parameters, cusolverEigMode_t, cublasFillMode_t,
                                 std::int64_t n, Type type, const void*, std::int64_t, Type,
                                 const void*, Type, std::size_t* device, std::size_t* host,
                                 std::int64_t batch);
cusolverStatus_t SyevBatched(Handle handle, Parameters, cusolverEigMode_t mode, cublasFillMode_t,
                             std::int64_t n, Type type, void* a, std::int64_t lda, Type, void* w,
                             Type, void*, std::size_t, void*, std::size_t, int* info,
                             std::int64_t batch);
cusolverStatus_t GeevSize(Handle handle, Parameters, cusolverEigMode_t, cusolverEigMode_t,
                          std::int64_t n, Type type, const void*, std::int64_t, Type, const void*,
                          Type, const void*, std::int64_t, Type, const void*, std::int64_t, Type,
                          std::size_t* device, std::size_t* host);
cusolverStatus_t Geev(Handle handle, Parameters, cusolverEigMode_t left, cusolverEigMode_t right,
                      std::int64_t n, Type type, void* a, std::int64_t lda, Type, void* w, Type,
                      void* vl, std::int64_t ldvl, Type, void* vr, std::int64_t ldvr, Type, void*,
                      std::size_t, void*, std::size_t, int* info);

}  // namespace eidolon::shim::cusolver::generic
