// A number's fixed bits are the exponent of 1/8, its drawn bits sign and mantissa: every pattern is
// then a normal, finite number of the same size, in each floating point format of eight bits and
// more, without rounding. The pattern is a mebibyte from the host that is doubled on the GPU, so
// that large operands cost the host nothing more. Draws come from a fixed multiplier, so two
// replays see the same numbers.
#include "services/timing/replay/operand.h"

#include <cublas_v2.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "services/base/hash.h"
#include "services/base/text.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;
using base::StrCat;

namespace {

constexpr std::uint64_t kPatternBytes = 1 << 20;
constexpr base::Wide kElementsMax = base::Wide{1} << 42;

// A number's layout: `digits` marks the bits that are drawn, `fixed` the exponent of 1/8.
struct Layout {
  std::uint32_t type;
  std::uint64_t bits;
  std::uint64_t digits;
  std::uint64_t fixed;
  std::uint64_t one;
};
constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr Layout kLayouts[] = {
    {CUDA_R_64F, 64, 0x800fffffffffffffu, 0x3fc0000000000000u, 0x3ff0000000000000u},
    {CUDA_R_32F, 32, 0x807fffffu, 0x3e000000u, 0x3f800000u},
    {CUDA_R_16F, 16, 0x83ffu, 0x3000u, 0x3c00u},
    {CUDA_R_16BF, 16, 0x807fu, 0x3e00u, 0x3f80u},
    {CUDA_R_8F_E4M3, 8, 0x87u, 0x20u, 0x38u},
    {CUDA_R_8F_E5M2, 8, 0x83u, 0x30u, 0x3cu},
    {CUDA_R_8F_UE8M0, 8, 0, 0x7f, 0x7f},  // Powers of two only: 1.
    // Whole numbers; and four bits, all of whose values are finite.
    {CUDA_R_64I, 64, kAll, 0, 1},
    {CUDA_R_32I, 32, kAll, 0, 1},
    {CUDA_R_8I, 8, kAll, 0, 1},
    {CUDA_R_8U, 8, kAll, 0, 1},
    {CUDA_R_4F_E2M1, 4, kAll, 0, 0x22},
};

const Layout* FindLayout(std::uint32_t type) {
  const auto* found = std::find_if(std::begin(kLayouts), std::end(kLayouts),
                                   [&](const Layout& layout) { return layout.type == type; });
  return found == std::end(kLayouts) ? nullptr : found;
}

std::vector<unsigned char> PatternOf(const Layout& layout, Filling filling, std::uint64_t bytes) {
  const std::uint64_t width = std::max<std::uint64_t>(layout.bits / 8, 1);
  std::vector<unsigned char> pattern((bytes + width - 1) / width * width);
  for (std::uint64_t at = 0; at < pattern.size(); at += width) {
    const std::uint64_t draw = base::FoldedMultiply(at + 1, 0x9e3779b97f4a7c15u);
    const std::uint64_t value =
        filling == Filling::kOnes ? layout.one : (draw & layout.digits) | layout.fixed;
    std::memcpy(pattern.data() + at, &value, width);
  }
  pattern.resize(bytes);
  return pattern;
}

}  // namespace

Result<Operand> Operand::Make(const Driver& driver, std::uint32_t type, base::Wide elements,
                              CUstream stream, Filling filling) {
  const Layout* layout = FindLayout(type);
  if (layout == nullptr) {
    return base::Fail(ErrorCode::kUnsupported, StrCat("data type ", type, " is not replayed"));
  }
  if (elements > kElementsMax) {
    return base::Fail(ErrorCode::kResourceExhausted, "an operand is larger than any memory");
  }
  Operand operand;
  const std::uint64_t bytes = (static_cast<std::uint64_t>(elements) * layout->bits + 7) / 8;
  if (bytes == 0) return operand;
  CUresult result = driver.cuMemAlloc_v2(&operand.address_, bytes);
  if (result != CUDA_SUCCESS) {
    return std::unexpected(driver.Check(result, "allocating an operand").error());
  }
  operand.driver_ = &driver;
  // The pattern once from the host, then doubled on the GPU.
  const auto pattern = PatternOf(*layout, filling, std::min(bytes, kPatternBytes));
  const CUdeviceptr begin = operand.address_;
  result = driver.cuMemcpyHtoDAsync_v2(begin, pattern.data(), pattern.size(), stream);
  if (result == CUDA_SUCCESS) result = driver.cuStreamSynchronize(stream);  // The pattern goes.
  for (std::uint64_t done = pattern.size(); result == CUDA_SUCCESS && done < bytes; done *= 2) {
    result = driver.cuMemcpyDtoDAsync_v2(begin + done, begin, std::min(done, bytes - done), stream);
  }
  if (result == CUDA_SUCCESS) result = driver.cuStreamSynchronize(stream);
  if (result != CUDA_SUCCESS) {
    return std::unexpected(driver.Check(result, "filling an operand").error());
  }
  return operand;
}

Operand::~Operand() {
  if (address_ != 0) driver_->cuMemFree_v2(address_);
}

std::uint64_t BitsOf(std::uint32_t type) {
  const Layout* layout = FindLayout(type);
  return layout == nullptr ? 0 : layout->bits;
}

std::uint32_t ScaleTypeOf(std::uint32_t compute_type) {
  switch (compute_type) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return CUDA_R_16F;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return CUDA_R_64F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return CUDA_R_32I;
    default:
      return CUDA_R_32F;
  }
}

Scalar OneOf(std::uint32_t type) {
  Scalar scalar;
  const Layout* layout = FindLayout(type);
  if (layout != nullptr) std::memcpy(scalar.bytes.data(), &layout->one, layout->bits / 8);
  return scalar;
}

Result<Scalar> ScalarOf(std::uint32_t compute_type, bool one) {
  switch (compute_type) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      break;
    default:
      return base::Fail(ErrorCode::kUnsupported,
                        StrCat("compute type ", compute_type, " is not replayed"));
  }
  return one ? OneOf(ScaleTypeOf(compute_type)) : Scalar{};
}

}  // namespace eidolon::timing::replay
