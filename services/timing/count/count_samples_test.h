// Kernels of services/machine_code/cubin/testdata/sample.ptx, and launches of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "services/contract/workload/pointer_tag.h"
#include "services/machine_code/cubin/fat_binary.h"
#include "services/timing/count/kernel_code.h"
#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/kernel/work_item.h"
#include "source_tree.h"

namespace eidolon::timing::count {

inline std::vector<std::byte> SampleCode(cubin::Capability device = {9, 0}) {
  std::ifstream file(
      std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/zstandard.fatbin",
      std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const auto binary = cubin::FatBinary::Parse(std::as_bytes(std::span(bytes)));
  return *cubin::Unpack(*binary->Choose(device));
}

inline std::vector<std::byte> TestFile(const std::string& name) {
  std::ifstream file(
      std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/" + name,
      std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  std::vector<std::byte> result(bytes.size());
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

inline const gpu_model::GpuModel& H100() {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  return **catalog.Find("H100-SXM5-80GB");
}

// "scale": each thread multiplies its element of `out` in place.
inline kernel::KernelLaunch Scale(std::uint32_t elements) {
  kernel::KernelLaunch launch;
  launch.name = "scale";
  launch.grid = {(elements + 255) / 256, 1, 1};
  launch.block = {256, 1, 1};
  launch.registers = 16;
  launch.parameters.resize(16);
  std::memcpy(launch.parameters.data(), &workload::kPointerTag, 8);
  std::memcpy(launch.parameters.data() + 12, &elements, 4);
  return launch;
}

}  // namespace eidolon::timing::count
