#include "services/contract/cluster/cpu_model.h"

#include <algorithm>
#include <array>

namespace eidolon::cluster {
namespace {

// The work per cycle of a core, relative to Golden Cove (Sapphire Rapids), on integer code with
// many branches. Vendors' own figures for a generation over the one before, single thread at equal
// clock: Zen 3 over Zen 2 +19 %, Zen 4 over Zen 3 +14 %, Golden Cove over Sunny Cove +19 %; Zen 4
// and Golden Cove are taken for equal, and so are Raptor Cove and Golden Cove, which differ in
// caches. Redwood Cove and Neoverse V2 are placed beside them with no better source than reviews of
// whole systems, hence their larger error.
constexpr double kGoldenCove = 1.0;
constexpr double kSunnyCove = kGoldenCove / 1.19;
constexpr double kZen4 = 1.0;
constexpr double kZen3 = kZen4 / 1.14;
constexpr double kZen2 = kZen3 / 1.19;
constexpr double kRedwoodCove = 1.03;
constexpr double kNeoverseV2 = 1.0;

constexpr double kReferenceGigahertz = 3.8;
constexpr double Speed(double gigahertz, double work_per_cycle) {
  return gigahertz * work_per_cycle / kReferenceGigahertz;
}

// Frequencies are the vendors' single-core maxima. DGX A100: two EPYC 7742. DGX H100 and H200: two
// Xeon Platinum 8480C. DGX B200: two Xeon Platinum 8570. GB200 and GH200: Grace.
constexpr std::array<CpuModel, 9> kModels = {{
    {"EPYC-7742", Speed(3.4, kZen2), 0.08},
    {"EPYC-7763", Speed(3.5, kZen3), 0.08},
    {"EPYC-9654", Speed(3.7, kZen4), 0.08},
    {"Grace", Speed(3.35, kNeoverseV2), 0.12},
    {"Xeon-6972P", Speed(3.9, kRedwoodCove), 0.05},
    {"Xeon-8358", Speed(3.4, kSunnyCove), 0.08},
    {"Xeon-8480C", Speed(3.8, kGoldenCove), 0.05},
    {"Xeon-8570", Speed(4.0, kGoldenCove), 0.05},
    {"Xeon-8592+", Speed(3.9, kGoldenCove), 0.05},
}};

}  // namespace

const CpuModel* FindCpuModel(std::string_view name) {
  const auto* const found = std::ranges::find(kModels, name, &CpuModel::name);
  return found == kModels.end() ? nullptr : found;
}

std::vector<std::string> CpuModelNames() {
  std::vector<std::string> names;
  for (const CpuModel& model : kModels) names.emplace_back(model.name);
  return names;
}

std::string_view UsualCpuOf(std::string_view gpu) {
  if (gpu.starts_with("A100")) return "EPYC-7742";
  if (gpu.starts_with("GB") || gpu.starts_with("GH")) return "Grace";
  if (gpu.starts_with("B")) return "Xeon-8570";
  return "Xeon-8480C";
}

}  // namespace eidolon::cluster
