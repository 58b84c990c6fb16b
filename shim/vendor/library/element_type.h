// Element types of library calls: cudaDataType_t's numbers, their widths, and the C++ types that
// the typed entry points (cublasSgemm, cublasZgemm) stand for.
#pragma once

#include <cuComplex.h>
#include <library_types.h>

#include <cstdint>

struct __half;
struct __nv_bfloat16;

namespace eidolon::shim::library {

// Bits of one element; 0 for a number that is not a type.
std::uint64_t BitsOf(std::uint32_t type);
// Bytes of `count` elements, rounded up.
inline std::uint64_t BytesOf(std::uint32_t type, std::uint64_t count) {
  return (BitsOf(type) * count + 7) / 8;
}
bool IsComplex(std::uint32_t type);
// Real operations of one multiply-add over those of a real multiply-add: 4 for complex numbers.
inline std::uint64_t FlopScale(std::uint32_t type) { return IsComplex(type) ? 4 : 1; }

// The element types of BLAS; others do not compile.
template <typename T>
struct ElementType;
template <>
struct ElementType<float> {
  static constexpr cudaDataType_t kNumber = CUDA_R_32F;
};
template <>
struct ElementType<double> {
  static constexpr cudaDataType_t kNumber = CUDA_R_64F;
};
template <>
struct ElementType<cuComplex> {
  static constexpr cudaDataType_t kNumber = CUDA_C_32F;
};
template <>
struct ElementType<cuDoubleComplex> {
  static constexpr cudaDataType_t kNumber = CUDA_C_64F;
};
template <>
struct ElementType<__half> {
  static constexpr cudaDataType_t kNumber = CUDA_R_16F;
};
template <>
struct ElementType<__nv_bfloat16> {
  static constexpr cudaDataType_t kNumber = CUDA_R_16BF;
};

template <typename T>
inline constexpr cudaDataType_t kTypeOf = ElementType<T>::kNumber;

}  // namespace eidolon::shim::library
