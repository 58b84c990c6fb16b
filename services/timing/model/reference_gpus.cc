#include "services/timing/model/reference_gpus.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

// The architecture, as far as libraries tell them apart, and bytes of bandwidth an operation in
// BF16.
struct Kind {
  std::string_view gpu;
  std::uint32_t architecture;
  double bytes;
};
constexpr Kind kKinds[] = {{"A100-SXM4-80GB", 8, 7.52e-3},
                           {"H100-SXM5-80GB", 9, 4.22e-3},
                           {"H200-SXM-141GB", 9, 6.04e-3},
                           {"B200-SXM-180GB", 10, 4.41e-3},
                           {"GB200", 10, 4.39e-3},
                           {"B300-SXM-288GB", 10, 4.21e-3},
                           {"RTX-PRO-6000-Server", 12, 4.29e-3}};

}  // namespace

std::uint32_t ArchitectureOf(const gpu_model::GpuModel& gpu) {
  const bool ada = gpu.compute_major == 8 && gpu.compute_minor == 9;
  return ada ? 12 : gpu.compute_major;
}

std::vector<ReferenceGpu> ReferenceGpusFor(const gpu_model::GpuModel& gpu) {
  // At its own clock: at another one it is still the same part.
  const double rate = Rate(gpu, "bf16") / gpu.clock_scale;
  const double wanted = std::log(static_cast<double>(gpu.memory_bytes_per_second) / rate);
  std::vector<std::pair<double, ReferenceGpu>> found;
  for (const Kind& kind : kKinds) {
    if (kind.gpu == gpu.name) continue;
    const bool same = kind.architecture == ArchitectureOf(gpu);
    found.push_back({std::abs(std::log(kind.bytes) - wanted), {kind.gpu, same}});
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
