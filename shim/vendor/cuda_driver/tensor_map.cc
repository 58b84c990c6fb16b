// Kernels get the map by value, as a parameter, so its 128 bytes become part of the work's
// identity. The address stands in a word of its own and in plain form, where a launch finds and
// blanks it like every pointer; all other words that are used have the top bit set, which no device
// address has, so that a size or a stride is never taken for one. Fields that the vendor ignores
// are written as zero, for equal tensors to give equal bytes. The checks are those of
// cuTensorMapEncodeTiled's documentation.
#include "shim/vendor/cuda_driver/tensor_map.h"

#include <cstdint>
#include <optional>
#include <span>

#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::tensor_map {
namespace {

// Words of a map. Every word but the address has the top bit set, so that none looks like one.
//
//   0        address
//   1        kind, rank, type, interleave, swizzle, promotion, fill: a byte each
//   2 .. 6   size of each dimension, minus one
//   7 .. 10  stride of each dimension but the first, in bytes
//   11       box size of each dimension, minus one: a byte each
//   12       element stride of each dimension, minus one: a byte each
constexpr int kAddress = 0;
constexpr int kKind = 1;
constexpr int kSizes = 2;
constexpr int kStrides = 7;
constexpr int kBox = 11;
constexpr int kSteps = 12;
constexpr cuuint64_t kNoAddress = cuuint64_t{1} << 63;
constexpr cuuint64_t kTiled = 0x71;
constexpr cuuint64_t kMapAlignment = 64;

// Limits of the driver's documentation.
constexpr cuuint32_t kLargestRank = 5;
constexpr cuuint64_t kLargestSize = cuuint64_t{1} << 32;
constexpr cuuint64_t kStrideEnd = cuuint64_t{1} << 40;
constexpr cuuint32_t kLargestBox = 256;
constexpr cuuint32_t kLargestStep = 8;
constexpr cuuint64_t kPackedBox = 128;

enum class Numbers { kInteger, kFloating, kPacked };

struct ElementType {
  cuuint64_t bits = 0;
  Numbers numbers = Numbers::kInteger;
  cuuint64_t size_multiple = 1;  // Of the first dimension.
  bool wide = false;             // Addresses and strides keep 32 bytes; the box has one size.
};

std::optional<ElementType> TypeOf(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return ElementType{.bits = 8};
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
      return ElementType{.bits = 16};
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
      return ElementType{.bits = 32};
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
      return ElementType{.bits = 64};
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return ElementType{.bits = 16, .numbers = Numbers::kFloating};
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return ElementType{.bits = 32, .numbers = Numbers::kFloating};
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return ElementType{.bits = 64, .numbers = Numbers::kFloating};
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
      return ElementType{.bits = 4, .numbers = Numbers::kPacked, .size_multiple = 2};
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B:
      return ElementType{
          .bits = 4, .numbers = Numbers::kPacked, .size_multiple = 128, .wide = true};
    case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B:
      return ElementType{
          .bits = 6, .numbers = Numbers::kPacked, .size_multiple = 128, .wide = true};
  }
  return std::nullopt;
}

// The largest inner dimension of a box in bytes; 0: any; nothing for a number that is not a swizzle
// mode.
std::optional<cuuint64_t> SpanOf(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE:
      return 0;
    case CU_TENSOR_MAP_SWIZZLE_32B:
      return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B:
      return 64;
    case CU_TENSOR_MAP_SWIZZLE_128B:
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B:
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B:
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B:
      return 128;
  }
  return std::nullopt;
}

bool IsSwizzleOfWideType(CUtensorMapDataType type, CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE:
    case CU_TENSOR_MAP_SWIZZLE_128B:
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B:
      return true;
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B:
      return type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
    default:
      return false;
  }
}

// Returns what addresses and strides are multiples of.
cuuint64_t AlignmentOf(const ElementType& element, CUtensorMapInterleave interleave) {
  return element.wide || interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
}

bool AreSizesValid(std::span<const cuuint64_t> sizes, const ElementType& element) {
  for (const cuuint64_t size : sizes) {
    if (size == 0 || size > kLargestSize) return false;
  }
  return sizes[0] % element.size_multiple == 0;
}

bool AreStridesValid(std::span<const cuuint64_t> strides, cuuint64_t alignment) {
  for (const cuuint64_t stride : strides) {
    if (stride % alignment != 0 || stride >= kStrideEnd) return false;
  }
  return true;
}

bool IsBoxValid(std::span<const cuuint32_t> box, std::span<const cuuint32_t> steps,
                const ElementType& element, CUtensorMapInterleave interleave) {
  const bool plain = interleave == CU_TENSOR_MAP_INTERLEAVE_NONE;
  for (std::size_t i = 0; i < box.size(); ++i) {
    if (box[i] == 0 || box[i] > kLargestBox) return false;
    const bool ignored = i == 0 && plain;
    if (!ignored && (steps[i] == 0 || steps[i] > kLargestStep)) return false;
  }
  if (element.wide) return box[0] == kPackedBox;
  return !plain || box[0] * element.bits % (16 * 8) == 0;
}

bool IsSwizzleValid(CUtensorMapDataType type, const ElementType& element, cuuint32_t inner,
                    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle) {
  const std::optional<cuuint64_t> span = SpanOf(swizzle);
  if (!span.has_value()) return false;
  if (element.wide) {
    const bool six = type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
    if (six && interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return false;
    return IsSwizzleOfWideType(type, swizzle);
  }
  switch (interleave) {
    case CU_TENSOR_MAP_INTERLEAVE_NONE:
      return *span == 0 || inner * element.bits <= *span * 8;
    case CU_TENSOR_MAP_INTERLEAVE_16B:
      return true;
    case CU_TENSOR_MAP_INTERLEAVE_32B:
      return swizzle == CU_TENSOR_MAP_SWIZZLE_32B;
  }
  return false;
}

bool AreHintsValid(const ElementType& element, CUtensorMapL2promotion promotion,
                   CUtensorMapFloatOOBfill fill) {
  if (promotion < CU_TENSOR_MAP_L2_PROMOTION_NONE ||
      promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B) {
    return false;
  }
  if (fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) return true;
  return fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA &&
         element.numbers == Numbers::kFloating;
}

bool IsAligned(const void* pointer, cuuint64_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

cuuint64_t ByteAt(int place, cuuint64_t value) { return value << (8 * place); }

}  // namespace

CUresult EncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                     const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                     const cuuint32_t* steps, CUtensorMapInterleave interleave,
                     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                     CUtensorMapFloatOOBfill fill) {
  if (const auto status = RequireContext(); status != gpu::Status::kSuccess) {
    return ToResult(status);
  }
  const std::optional<ElementType> element = TypeOf(type);
  const cuuint32_t least_rank = interleave == CU_TENSOR_MAP_INTERLEAVE_NONE ? 1 : 3;
  if (map == nullptr || !IsAligned(map, kMapAlignment) || !element.has_value() ||
      rank < least_rank || rank > kLargestRank || sizes == nullptr || box == nullptr ||
      steps == nullptr || (strides == nullptr && rank > 1)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const cuuint64_t alignment = AlignmentOf(*element, interleave);
  if (!IsAligned(address, alignment) || !AreSizesValid({sizes, rank}, *element) ||
      !AreStridesValid({strides, rank - 1}, alignment) ||
      !IsBoxValid({box, rank}, {steps, rank}, *element, interleave) ||
      !IsSwizzleValid(type, *element, box[0], interleave, swizzle) ||
      !AreHintsValid(*element, promotion, fill)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *map = {};
  map->opaque[kAddress] = reinterpret_cast<std::uintptr_t>(address);
  map->opaque[kKind] = kNoAddress | ByteAt(0, kTiled) | ByteAt(1, rank) | ByteAt(2, type) |
                       ByteAt(3, interleave) | ByteAt(4, swizzle) | ByteAt(5, promotion) |
                       ByteAt(6, fill);
  map->opaque[kBox] = map->opaque[kSteps] = kNoAddress;
  for (cuuint32_t i = 0; i < rank; ++i) {
    const bool ignored = i == 0 && interleave == CU_TENSOR_MAP_INTERLEAVE_NONE;
    map->opaque[kSizes + i] = kNoAddress | (sizes[i] - 1);
    if (i > 0) map->opaque[kStrides + i - 1] = kNoAddress | strides[i - 1];
    map->opaque[kBox] |= ByteAt(static_cast<int>(i), box[i] - 1);
    if (!ignored) map->opaque[kSteps] |= ByteAt(static_cast<int>(i), steps[i] - 1);
  }
  return CUDA_SUCCESS;
}

CUresult ReplaceAddress(CUtensorMap* map, void* address) {
  if (const auto status = RequireContext(); status != gpu::Status::kSuccess) {
    return ToResult(status);
  }
  if (map == nullptr || !IsAligned(map, kMapAlignment)) return CUDA_ERROR_INVALID_VALUE;
  const cuuint64_t kind = map->opaque[kKind];
  const auto byte = [&](int place) { return static_cast<int>(kind >> (8 * place) & 0xff); };
  const auto element = TypeOf(static_cast<CUtensorMapDataType>(byte(2)));
  if ((kind & kNoAddress) == 0 || byte(0) != static_cast<int>(kTiled) || !element.has_value()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto interleave = static_cast<CUtensorMapInterleave>(byte(3));
  if (!IsAligned(address, AlignmentOf(*element, interleave))) return CUDA_ERROR_INVALID_VALUE;
  map->opaque[kAddress] = reinterpret_cast<std::uintptr_t>(address);
  return CUDA_SUCCESS;
}

}  // namespace eidolon::shim::cuda_driver::tensor_map
