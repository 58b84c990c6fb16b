// Numbers of the math libraries' types as the host computes with them.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

namespace eidolon::shim::compute {

enum class Element : std::uint8_t {
  kNone,  // One that is not computed with.
  kHalf,
  kBfloat,
  kFloat,
  kDouble,
  kComplexFloat,
  kComplexDouble,
  kInt8,
  kInt32,
};

using Number = std::complex<double>;

// 0 for kNone.
std::size_t BytesOf(Element type);
// Requires: BytesOf(type) bytes are there; not kNone.
Number ReadNumber(const unsigned char* bytes, Element type);
// Rounded to nearest; the imaginary part of a real type is dropped.
void WriteNumber(Number number, Element type, unsigned char* bytes);

}  // namespace eidolon::shim::compute
