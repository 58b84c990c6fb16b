#include "services/timing/kernel/element_type.h"

#include <array>
#include <iterator>
#include <utility>

#include "services/base/text.h"

namespace eidolon::timing::kernel {
namespace {

std::string_view Strip(std::string_view type) {
  constexpr std::array<std::string_view, 5> kSuffixes = {" const", "*", "&", " ", " __restrict__"};
  bool changed = true;
  while (changed && !type.empty()) {
    changed = false;
    for (const std::string_view suffix : kSuffixes) {
      if (type.ends_with(suffix)) {
        type.remove_suffix(suffix.size());
        changed = true;
      }
    }
    if (type.starts_with("const ")) {
      type.remove_prefix(6);
      changed = true;
    }
  }
  return type;
}

}  // namespace

std::optional<double> ElementBytes(std::string_view type) {
  type = Strip(type);
  constexpr std::pair<std::string_view, double> kTypes[] = {{"float", 4},
                                                            {"double", 8},
                                                            {"int", 4},
                                                            {"unsigned int", 4},
                                                            {"long", 8},
                                                            {"unsigned long", 8},
                                                            {"long long", 8},
                                                            {"unsigned long long", 8},
                                                            {"short", 2},
                                                            {"unsigned short", 2},
                                                            {"char", 1},
                                                            {"signed char", 1},
                                                            {"unsigned char", 1},
                                                            {"bool", 1},
                                                            {"c10::Half", 2},
                                                            {"c10::BFloat16", 2},
                                                            {"__half", 2},
                                                            {"__nv_bfloat16", 2},
                                                            {"half", 2},
                                                            {"cutlass::half_t", 2},
                                                            {"cutlass::bfloat16_t", 2},
                                                            {"__nv_fp8_e4m3", 1},
                                                            {"__nv_fp8_e5m2", 1},
                                                            {"c10::quint8", 1},
                                                            {"c10::qint8", 1},
                                                            {"c10::qint32", 4},
                                                            {"c10::complex<float>", 8},
                                                            {"c10::complex<double>", 16},
                                                            {"c10::complex<c10::Half>", 4},
                                                            {"float2", 8},
                                                            {"float4", 16},
                                                            {"uint4", 16},
                                                            {"int4", 16},
                                                            {"c10::Float4_e2m1fn_x2", 1}};
  for (const auto& [name, bytes] : kTypes) {
    if (type == name) return bytes;
  }
  if (type.starts_with("c10::Float8_") || type.starts_with("cutlass::float_e")) return 1;
  const std::size_t opaque = type.find("OpaqueType<");
  if (opaque != std::string_view::npos) {
    std::string_view digits = type.substr(opaque + 11);
    digits = digits.substr(0, digits.find_first_not_of("0123456789"));
    if (const auto bytes = base::ParseInteger(digits)) return static_cast<double>(*bytes);
  }
  return std::nullopt;
}

double CudaTypeBytes(std::uint32_t cuda_type) {
  // In the order of cudaDataType_t's numbers, library_types.h of the CUDA toolkit.
  constexpr double kBytes[] = {4, 8,   2, 1, 8, 16, 4, 2, 1,  2, 4,  8, 4, 8, 2,    4,    0.5,
                               1, 0.5, 1, 2, 4, 2,  4, 8, 16, 8, 16, 1, 1, 1, 0.75, 0.75, 0.5};
  return cuda_type < std::size(kBytes) ? kBytes[cuda_type] : 4;
}

std::string_view CudaTypeName(std::uint32_t cuda_type) {
  switch (cuda_type) {
    case 1:
    case 5:
      return "fp64";
    case 2:
    case 6:
      return "fp16";
    case 14:
    case 15:
      return "bf16";
    case 28:
    case 29:
      return "fp8";
    case 33:
      return "fp4";
    case 3:
    case 8:
      return "int8";
    default:
      return "fp32";
  }
}

}  // namespace eidolon::timing::kernel
