// Hostile cubins: the kernels that they claim to hold are made ready, with variables placed and
// addresses of theirs put into constants. Whatever they claim, variables lie where interpreted
// kernels look for them, and none overlap.
#include <algorithm>
#include <span>

#include "services/machine_code/cubin/cubin.h"
#include "shim/value/compute/machine_code.h"

namespace {

using namespace eidolon;

constexpr std::size_t kMostKernels = 4;

void Check(const shim::compute::MachineCode& code) {
  auto ranges = code.variables;
  std::ranges::sort(ranges);
  std::uint64_t end = shim::compute::kModuleBegin;
  for (const auto& [from, to] : ranges) {
    if (from < end || to < from || to > shim::compute::kModuleEnd) __builtin_trap();
    end = to;
  }
  if (code.program == nullptr && code.refusal.empty()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto cubin = cubin::ParseCubin(bytes);
  if (!cubin) return 0;
  std::size_t count = 0;
  for (const cubin::Function& function : cubin->functions) {
    if (count++ == kMostKernels) break;
    shim::value::Store store;
    const auto code = shim::compute::ReadMachineCode(bytes, function.name, store);
    if (code) Check(*code);
  }
  return 0;
}
