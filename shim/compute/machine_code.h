// The machine code of a program's kernels, translated for the interpreter when first needed.
// Fat binaries hold code for several GPUs. That of the emulated one is read: programs launch it as
// it expects (CUB chooses threads and items of a kernel by the architecture that it was compiled
// for).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/error.h"
#include "services/cubin/target.h"
#include "services/interpret/program.h"
#include "shim/value/store.h"

namespace eidolon::shim::compute {

// Where the variables of modules lie for interpreted kernels: outside emulated device memory.
inline constexpr std::uint64_t kModuleBegin = 0x7c0000000000;
inline constexpr std::uint64_t kModuleEnd = 0x7d0000000000;

struct MachineCode {
  std::unique_ptr<interpret::Program> program;  // Null when the kernel cannot be run.
  std::string refusal;                          // Then why.
  bool reads_variables = false;  // __constant__ or __device__ variables of its module.
  // Where those that kernels can write lie; also when the kernel cannot be run.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> variables;
};

// The kernel `name` of the image (fat binary or cubin) at `image`, which stays readable, for a
// process whose GPUs are of one capability. The first
// call for an image puts the initial values of its variables into the store. Thread safe; answers
// stay valid.
const MachineCode& FindMachineCode(const void* image, std::string_view name,
                                   cubin::Capability device, value::Store& store);

// The same for a cubin at hand, which may be anything; nothing is kept.
base::Result<MachineCode> ReadMachineCode(std::span<const std::byte> cubin, std::string_view name,
                                          value::Store& store);

}  // namespace eidolon::shim::compute
