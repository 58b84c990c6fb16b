#include "services/timing/model/reference_gpus.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "services/base/check.h"
#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/model/embedded_rows.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

using gpu_model::GpuModel;

// Returns the logarithm of the bytes of bandwidth for each operation in BF16, at the GPU's own
// clock: at another one it is still the same part.
double LogBytes(const GpuModel& gpu) {
  const double rate = Rate(gpu, "bf16") / gpu.clock_scale;
  return std::log(static_cast<double>(gpu.memory_bytes_per_second) / rate);
}

const std::vector<const GpuModel*>& MeasuredGpus() {
  static const std::vector<const GpuModel*> gpus = [] {
    std::set<std::string_view> names;
    for (const EmbeddedRows& file : EmbeddedGemmRows()) names.insert(file.gpu);
    std::vector<const GpuModel*> found;
    for (const std::string_view name : names) found.push_back(&BuiltInGpu(name));
    return found;
  }();
  return gpus;
}

}  // namespace

const GpuModel& BuiltInGpu(std::string_view name) {
  const auto found = gpu_model::GpuCatalog::BuiltIn().Find(name);
  CHECK(found.has_value());
  return **found;
}

std::uint32_t ArchitectureOf(const GpuModel& gpu) {
  const bool ada = gpu.compute_major == 8 && gpu.compute_minor == 9;
  return ada ? 12 : gpu.compute_major;
}

std::vector<ReferenceGpu> ReferenceGpusFor(const GpuModel& gpu) {
  const double wanted = LogBytes(gpu);
  std::vector<std::pair<double, ReferenceGpu>> found;
  for (const GpuModel* measured : MeasuredGpus()) {
    if (measured->name == gpu.name) continue;
    const bool same = ArchitectureOf(*measured) == ArchitectureOf(gpu);
    found.push_back({std::abs(LogBytes(*measured) - wanted), {measured, same}});
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    if (a.second.same_architecture != b.second.same_architecture) {
      return a.second.same_architecture;
    }
    return a.first < b.first;
  });
  std::vector<ReferenceGpu> reference_gpus;
  for (const auto& [away, reference_gpu] : found) reference_gpus.push_back(reference_gpu);
  return reference_gpus;
}

}  // namespace eidolon::timing::model
