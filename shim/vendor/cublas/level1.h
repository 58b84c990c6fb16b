// BLAS level 1: vectors. Entry points are templates over index and element type (see gemm.h).
#pragma once

#include <cublas_api.h>

#include <cstdint>

#include "shim/vendor/cublas/routine.h"

namespace eidolon::shim::cublas::level1 {

template <typename T>
inline constexpr cudaDataType_t kIndexType = sizeof(T) == 8 ? CUDA_R_64I : CUDA_R_32I;

template <typename Int, typename T, typename R>
cublasStatus_t Nrm2(cublasHandle_t handle, Int n, const T*, Int incx, R* result) {
  return RunWithResult(
      handle, {"cublas.nrm2", library::kTypeOf<T>, double(n), double(n), {n, incx}, nullptr, 0},
      {result, library::kTypeOf<R>});
}

template <typename Int, typename T, typename R>
cublasStatus_t Asum(cublasHandle_t handle, Int n, const T*, Int incx, R* result) {
  return RunWithResult(
      handle, {"cublas.asum", library::kTypeOf<T>, double(n), double(n), {n, incx}, nullptr, 0},
      {result, library::kTypeOf<R>});
}

// Index of the largest or smallest magnitude.
template <typename Int, typename T>
cublasStatus_t Iamax(cublasHandle_t handle, Int n, const T*, Int incx, Int* result) {
  return RunWithResult(
      handle, {"cublas.iamax", library::kTypeOf<T>, double(n), double(n), {n, incx}, nullptr, 0},
      {result, kIndexType<Int>});
}

// Both spellings of complex ones come here, with and without conjugation: they are not computed.
template <typename Int>
cublasStatus_t DotEx(cublasHandle_t handle, Int n, const void* x, cudaDataType_t type_x, Int incx,
                     const void* y, cudaDataType_t type_y, Int incy, void* result,
                     cudaDataType_t type_r, cudaDataType_t) {
  const compute::Gemm gemm = DotAsGemm(n, {x, type_x, incx}, {y, type_y, incy});
  return RunWithResult(handle,
                       {.name = "cublas.dot",
                        .type = type_x,
                        .multiply_adds = double(n),
                        .elements = 2.0 * double(n),
                        .numbers = {n, incx, incy},
                        .gemm = library::IsComplex(type_x) ? nullptr : &gemm},
                       {result, type_r});
}

template <typename Int, typename T>
cublasStatus_t Dot(cublasHandle_t handle, Int n, const T* x, Int incx, const T* y, Int incy,
                   T* result) {
  constexpr auto type = library::kTypeOf<T>;
  return DotEx<Int>(handle, n, x, type, incx, y, type, incy, result, type, type);
}

template <typename Int>
cublasStatus_t Nrm2Ex(cublasHandle_t handle, Int n, const void*, cudaDataType_t type_x, Int incx,
                      void* result, cudaDataType_t type_r, cudaDataType_t) {
  return RunWithResult(handle, {"cublas.nrm2", type_x, double(n), double(n), {n, incx}, nullptr, 0},
                       {result, type_r});
}

template <typename Int, typename S, typename T>
cublasStatus_t Scal(cublasHandle_t handle, Int n, const S*, T* x, Int incx) {
  return Run(
      handle,
      {"cublas.scal", library::kTypeOf<T>, double(n), 2.0 * double(n), {n, incx}, x, Span(n, incx)},
      1);
}

template <typename Int>
cublasStatus_t ScalEx(cublasHandle_t handle, Int n, const void*, cudaDataType_t, void* x,
                      cudaDataType_t type_x, Int incx, cudaDataType_t) {
  return Run(handle,
             {"cublas.scal", type_x, double(n), 2.0 * double(n), {n, incx}, x, Span(n, incx)}, 1);
}

template <typename Int, typename T>
cublasStatus_t Axpy(cublasHandle_t handle, Int n, const T*, const T*, Int incx, T* y, Int incy) {
  return Run(handle,
             {"cublas.axpy",
              library::kTypeOf<T>,
              double(n),
              3.0 * double(n),
              {n, incx, incy},
              y,
              Span(n, incy)},
             1);
}

template <typename Int>
cublasStatus_t AxpyEx(cublasHandle_t handle, Int n, const void*, cudaDataType_t, const void*,
                      cudaDataType_t, Int incx, void* y, cudaDataType_t type_y, Int incy,
                      cudaDataType_t) {
  return Run(handle,
             {"cublas.axpy", type_y, double(n), 3.0 * double(n), {n, incx, incy}, y, Span(n, incy)},
             1);
}

template <typename Int, typename T>
cublasStatus_t Copy(cublasHandle_t handle, Int n, const T*, Int incx, T* y, Int incy) {
  return Run(
      handle,
      {"cublas.copy", library::kTypeOf<T>, 0, 2.0 * double(n), {n, incx, incy}, y, Span(n, incy)},
      1);
}

template <typename Int>
cublasStatus_t CopyEx(cublasHandle_t handle, Int n, const void*, cudaDataType_t, Int incx, void* y,
                      cudaDataType_t type_y, Int incy) {
  return Run(handle, {"cublas.copy", type_y, 0, 2.0 * double(n), {n, incx, incy}, y, Span(n, incy)},
             1);
}

// Both vectors change; the value store forgets both.
cublasStatus_t RunOnBoth(cublasHandle_t handle, const Routine& routine, const void* x,
                         std::int64_t x_elements);

template <typename Int, typename T>
cublasStatus_t Swap(cublasHandle_t handle, Int n, T* x, Int incx, T* y, Int incy) {
  return RunOnBoth(
      handle,
      {"cublas.swap", library::kTypeOf<T>, 0, 4.0 * double(n), {n, incx, incy}, y, Span(n, incy)},
      x, Span(n, incx));
}

template <typename Int, typename T, typename C, typename S>
cublasStatus_t Rot(cublasHandle_t handle, Int n, T* x, Int incx, T* y, Int incy, const C*,
                   const S*) {
  return RunOnBoth(handle,
                   {"cublas.rot",
                    library::kTypeOf<T>,
                    3.0 * double(n),
                    4.0 * double(n),
                    {n, incx, incy},
                    y,
                    Span(n, incy)},
                   x, Span(n, incx));
}

template <typename Int, typename T>
cublasStatus_t Rotm(cublasHandle_t handle, Int n, T* x, Int incx, T* y, Int incy, const T*) {
  return RunOnBoth(handle,
                   {"cublas.rotm",
                    library::kTypeOf<T>,
                    3.0 * double(n),
                    4.0 * double(n),
                    {n, incx, incy},
                    y,
                    Span(n, incy)},
                   x, Span(n, incx));
}

}  // namespace eidolon::shim::cublas::level1
