#include "shim/vendor/library/gemm.h"

#include <cstring>
#include <utility>

#include "shim/value/compute/launch.h"
#include "shim/vendor/library/element_type.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::library {
namespace {

using compute::Element;

bool CanCompute(const compute::Gemm& gemm) {
  for (const compute::GemmMatrix* matrix : {&gemm.a, &gemm.b, &gemm.d}) {
    if (matrix->type == Element::kNone) return false;
  }
  if (gemm.bias.address != 0 && gemm.bias.type == Element::kNone) return false;
  return gemm.c.address == 0 || gemm.c.type != Element::kNone;
}

}  // namespace

Element ElementOf(std::uint32_t type) {
  switch (type) {
    case CUDA_R_16F:
      return Element::kHalf;
    case CUDA_R_16BF:
      return Element::kBfloat;
    case CUDA_R_32F:
      return Element::kFloat;
    case CUDA_R_64F:
      return Element::kDouble;
    case CUDA_C_32F:
      return Element::kComplexFloat;
    case CUDA_C_64F:
      return Element::kComplexDouble;
    case CUDA_R_8I:
      return Element::kInt8;
    case CUDA_R_32I:
      return Element::kInt32;
    default:
      return Element::kNone;
  }
}

compute::GemmScalar ScalarOf(const void* scalar, std::uint32_t type, bool on_device) {
  compute::GemmScalar result{.type = ElementOf(type)};
  if (scalar == nullptr) return result;
  if (on_device) {
    result.address = reinterpret_cast<std::uint64_t>(scalar);
    return result;
  }
  return compute::HostScalar(scalar, result.type);
}

void AfterGemm(gpu::StreamHandle stream, const compute::Gemm& gemm, std::function<void()> forget) {
  if (!compute::IsOn() || !CanCompute(gemm) || !compute::IsSmall(gemm)) return forget();
  AfterWork(stream, [gemm] { compute::Record(gemm); });
}

}  // namespace eidolon::shim::library
