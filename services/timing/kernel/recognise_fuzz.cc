// Any bytes as a launch: the first half is the name, the rest the parameters. Counts must be
// finite.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "services/base/check.h"
#include "services/timing/kernel/recognise.h"
#include "services/timing/kernel/work_key.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using eidolon::timing::kernel::KernelLaunch;
  KernelLaunch launch;
  const std::size_t cut = size / 2;
  launch.name.assign(reinterpret_cast<const char*>(data), cut);
  launch.parameters.assign(reinterpret_cast<const char*>(data) + cut, size - cut);
  launch.grid = {static_cast<std::uint32_t>(size), 2, 3};
  launch.block = {128, 1, 1};
  for (std::uint32_t at = 0; at + 4 <= launch.parameters.size() && at < 256; at += 4) {
    launch.slots.push_back({at, at % 16 == 0 ? 64u : 4u});
  }
  const auto name = eidolon::timing::kernel::ParseKernelName(launch.name);
  const auto demand = eidolon::timing::kernel::Recognise(launch, name);
  CHECK(std::isfinite(demand.bytes) && demand.bytes >= 0);
  CHECK(std::isfinite(demand.flops) && demand.flops >= 0);
  static_cast<void>(eidolon::timing::kernel::WorkKey(launch));
  return 0;
}
