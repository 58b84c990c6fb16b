// Attributes of cuDNN's backend descriptors as numbers, for readers without the vendor's headers:
// the shim stores them, timing services and their workers read them again. cudnn_graph_v9.h; a test
// of the shim compares them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eidolon::cudnn_numbers {

// cudnnBackendAttributeType_t: those whose elements are not 4 bytes wide, and the last.
enum AttributeType : std::uint32_t {
  kHandle = 0,
  kBoolean = 2,
  kInt64 = 3,
  kDouble = 5,
  kVoidPointer = 6,
  kBackendDescriptor = 15,
  kChar = 24,
  kFraction = 26,
  kLastType = 32,
};

// Bytes of one element; 0 for an unknown type.
constexpr std::size_t ElementBytes(std::uint32_t type) {
  switch (type) {
    case kBoolean:
    case kChar:
      return 1;
    case kHandle:
    case kInt64:
    case kDouble:
    case kVoidPointer:
    case kBackendDescriptor:
      return 8;
    case kFraction:  // Two whole numbers.
      return 16;
    default:  // The rest are enumerations, 32-bit integers and floats.
      return type <= kLastType ? 4 : 0;
  }
}

// cudnnBackendAttributeName_t: the block of CUDNN_ATTR_TENSOR_..., as far as it may grow.
inline constexpr std::uint32_t kTensorAttributesBegin = 900;
inline constexpr std::uint32_t kTensorAttributesEnd = 1000;

constexpr bool IsOfTensor(std::uint32_t attribute) {
  return attribute >= kTensorAttributesBegin && attribute < kTensorAttributesEnd;
}

}  // namespace eidolon::cudnn_numbers
