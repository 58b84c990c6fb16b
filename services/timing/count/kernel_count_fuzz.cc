// A hostile cubin: each of its kernels is counted in a small launch.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "services/base/check.h"
#include "services/machine_code/cubin/cubin.h"
#include "services/timing/count/bounds.h"
#include "services/timing/count/count.h"
#include "services/timing/count/kernel_code.h"
#include "services/timing/gpu_model/gpu_catalog.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace count = eidolon::timing::count;
  static const auto catalog = *eidolon::timing::gpu_model::GpuCatalog::Load("");
  const auto& gpu = **catalog.Find("H100-SXM5-80GB");
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto parsed = eidolon::cubin::ParseCubin(bytes);
  if (!parsed) return 0;
  for (const auto& function : parsed->functions) {
    const auto code = count::ReadKernelCode(bytes, function.name);
    if (!code) continue;
    eidolon::timing::kernel::KernelLaunch launch;
    launch.name = function.name;
    launch.grid = {3, 2, 1};
    launch.block = {64, 1, 1};
    launch.parameters.resize(64);
    const auto counts = count::CountLaunch(*code, launch, gpu, {.warp_steps = 20'000});
    if (counts) CHECK(count::TimeOf(*counts, gpu).seconds >= gpu.empty_kernel.Seconds());
  }
  return 0;
}
