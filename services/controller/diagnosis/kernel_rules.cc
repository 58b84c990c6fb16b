// Rules about the work of the GPU itself.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "services/base/text.h"
#include "services/controller/diagnosis/rules.h"

namespace eidolon::controller::diagnosis {
namespace {

using base::StrCat;

// Families of kernels (timing/kernel/demand.h) that memory bounds: a few operations for each
// element that they read or write. Triton's are left out, because a compiler has fused them.
constexpr std::string_view kMemoryFamilies[] = {"elementwise", "copy",    "fill",          "cast",
                                                "reduction",   "softmax", "normalization", "loss",
                                                "optimizer",   "foreach", "embedding",     "index",
                                                "random",      "pooling", "resample",      "scan"};

bool IsMemoryBound(const job::KernelTime& kernel) {
  return kernel.matrix_flops == 0 &&
         std::ranges::find(kMemoryFamilies, std::string_view(kernel.family)) !=
             std::end(kMemoryFamilies);
}

struct Gemms {
  double seconds = 0;
  double least = 0;  // At the peak rate.
  double launches = 0;
};

// A host takes 8 us for a GEMM's call (docs/host_time.md): a GPU that needs less for the GEMM is
// never filled by launches one after another.
Gemms SmallGemmsOf(const Facts& facts, const job::Prediction& prediction, double peak) {
  constexpr double kCallSeconds = 8e-6;
  Gemms sum;
  for (const job::KernelTime& kernel : prediction.kernels) {
    if (kernel.family != "gemm" || kernel.matrix_flops == 0 || kernel.launches == 0) continue;
    const double all = static_cast<double>(kernel.matrix_flops) / peak;
    if (all / static_cast<double>(kernel.launches) >= kCallSeconds) continue;
    sum.seconds += BusySeconds(kernel, facts);
    sum.least += all / facts.ranks;
    sum.launches += static_cast<double>(kernel.launches) / facts.ranks;
  }
  return sum;
}

}  // namespace

std::optional<job::Finding> MemoryBoundKernels(const Facts& facts,
                                               const job::Prediction& prediction) {
  std::map<std::string_view, double> families;
  double cost = 0;
  for (const job::KernelTime& kernel : prediction.kernels) {
    if (!IsMemoryBound(kernel)) continue;
    families[kernel.family] += BusySeconds(kernel, facts);
    cost += BusySeconds(kernel, facts);
  }
  // Kernels that run at the same time take more together than the iteration has.
  cost = std::min(cost, facts.compute);
  if (!Matters(cost, facts)) return std::nullopt;
  const auto most =
      std::ranges::max_element(families, {}, [](const auto& family) { return family.second; });
  return FindingOf(
      {.rule = "memory-bound",
       .cause =
           StrCat("Limited by memory bandwidth: kernels that move much and compute little take ",
                  Brief(cost), " of ", Brief(facts.seconds), ", most of it ", most->first, " (",
                  Brief(most->second), ")"),
       .suggestion = "Fused kernels (torch.compile, a fused optimizer)",
       .cost = cost,
       .least = facts.seconds - cost,
       .evidence = {{"memoryBoundSeconds", cost}, {"longestFamilySeconds", most->second}}},
      facts);
}

std::optional<job::Finding> SmallGemms(const Facts& facts, const job::Prediction& prediction) {
  if (!prediction.matrix_rate || prediction.matrix_rate->peak <= 0) return std::nullopt;
  const Gemms small = SmallGemmsOf(facts, prediction, prediction.matrix_rate->peak);
  const double cost = std::min(small.seconds - small.least, facts.compute);
  if (!Matters(cost, facts)) return std::nullopt;
  const double utilization = small.least / small.seconds;
  return FindingOf({.rule = "small-gemms",
                    .cause = StrCat("Limited by small GEMMs: ", Brief(small.seconds), " of ",
                                    Brief(facts.seconds), " at ", BriefPercent(utilization),
                                    " of the GPU's dense bf16 rate"),
                    .suggestion = "Larger batches or grouped GEMMs",
                    .cost = cost,
                    .least = facts.seconds - cost,
                    .evidence = {{"smallGemmSeconds", small.seconds},
                                 {"atPeakSeconds", small.least},
                                 {"launches", small.launches}}},
                   facts);
}

job::Finding ComputeBound(const Facts& facts, const job::Prediction& prediction) {
  job::Finding finding{.rule = "compute",
                       .sentence = StrCat("Limited by GPU work: kernels run for ",
                                          Brief(facts.compute), " of ", Brief(facts.seconds)),
                       .suggestion = "",
                       .cost_seconds = facts.compute,
                       .least_seconds = std::nullopt,
                       .evidence = {{"computeSeconds", facts.compute}}};
  const auto& rate = prediction.matrix_rate;
  if (rate && rate->peak > 0) {
    const double utilization = rate->flops_per_second / rate->peak;
    finding.sentence +=
        StrCat(", with ", BriefPercent(utilization), " of the GPU's dense bf16 rate");
    finding.evidence.emplace_back("matrixUtilization", utilization);
  }
  finding.sentence += ".";
  return finding;
}

}  // namespace eidolon::controller::diagnosis
