// Kernels that torch.compile generates: triton_<kind>_fused_<operations>_<number>. Parameters are
// pointers, then sizes ("xnumel", "r0_numel"), then two scratch pointers of Triton. The types
// behind the pointers are not known here.
#include <algorithm>
#include <vector>

#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {
namespace {

// Mixed-precision training reads and writes bf16 with some fp32 between: bytes of an average
// element.
constexpr double kElementBytes = 2.5;

std::vector<double> Sizes(const Launch& l) {
  std::vector<double> sizes;
  for (std::size_t i = 0; i < l.parameters.slot_count(); ++i) {
    if (l.parameters.Slot(i)->bytes != 4) continue;
    if (const auto size = l.Size(i)) sizes.push_back(*size);
  }
  return sizes;
}

double Operations(std::string_view name) {
  double count = 0;
  for (const char c : name) count += c == '_' ? 1 : 0;
  return std::max(4.0, count * 3);
}

}  // namespace

std::optional<Demand> TritonInductor(const Launch& l) {
  const std::vector<double> sizes = Sizes(l);
  const double pointers = l.parameters.PointerCount();
  const std::string_view name = l.name.full;
  Demand demand;
  demand.family = Family::kTriton;
  demand.evidence = Evidence::kGrid;
  demand.efficiency = 0.85;
  if (name.starts_with("triton_tem_")) {
    // A template product: its sizes are compile-time constants. Tiles of 128 x 128, unknown depth.
    demand.family = Family::kGemm;
    demand.evidence = Evidence::kGuess;
    demand.unit = Unit::kTensorCore;
    demand.type = "bf16";
    demand.flops = static_cast<double>(l.launch.grid.Count()) * 2 * 128 * 128 * 4096;
    demand.bytes = static_cast<double>(l.launch.grid.Count()) * 128 * 128 * 4;
    return demand;
  }
  if (sizes.empty() || pointers < 1) return std::nullopt;
  // The last two sizes are a product (y x, or x r) when the grid has threads for it.
  const double last = sizes.back();
  const double before = sizes.size() > 1 ? sizes[sizes.size() - 2] : 1;
  const bool reduction = name.starts_with("triton_red_") || name.starts_with("triton_per_") ||
                         name.starts_with("triton_mix_");
  const bool tiled = reduction || (before > 1 && last * before <= l.threads() * 64);
  const double elements = tiled ? last * before : last;
  // In reductions a pointer or two are row or column vectors.
  const double full = reduction ? std::max(1.0, pointers - 2) : pointers;
  demand.bytes = elements * full * kElementBytes;
  demand.flops = elements * Operations(name);
  return demand;
}

}  // namespace eidolon::timing::kernel
