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
#include "services/base/hash.h"
#include "services/machine_code/cubin/target.h"
#include "services/machine_code/interpret/program.h"
#include "shim/value/store.h"

namespace eidolon::shim::compute {

// The variables of modules lie here for interpreted kernels: outside emulated device memory.
inline constexpr std::uint64_t kModuleBegin = 0x7c0000000000;
inline constexpr std::uint64_t kModuleEnd = 0x7d0000000000;

// A variable of a module that the program has asked for, and where it finds it on one device.
// Kernels that are launched afterwards find it there, too.
struct ShownVariable {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};
using ShownVariables = std::vector<ShownVariable>;

// A __constant__ variable whose bytes belong into bank 3 before the kernel runs.
struct SetConstant {
  std::uint32_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

struct MachineCode {
  std::unique_ptr<interpret::Program> program;  // Null when the kernel cannot be run.
  // Set only when it cannot be run and yet its stores can be found (interpret/outline.h).
  std::unique_ptr<interpret::Program> outline;
  // Digest of the cubin that it was made from; zero when variables of the program were put into it.
  base::Digest content;
  std::string refusal;  // Then why.
  // Shown ones, when the kernel reads bank 3. Each lies within the bank.
  std::vector<SetConstant> constants;
  // Ranges of variables that kernels can write; also when the kernel cannot be run.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> variables;

  // The code that stores are found in; null: they cannot be.
  const interpret::Program* followed() const {
    return program != nullptr ? program.get() : outline.get();
  }
};

// The kernel `name` of the image (fat binary or cubin) at `image`, which stays readable, for a
// process whose GPUs are of one capability. The first
// call for an image puts the initial values of its variables into the store. Thread safe; answers
// stay valid. `shown` stays where and as it is.
const MachineCode& FindMachineCode(const void* image, std::string_view name,
                                   cubin::Capability device, value::Store& store,
                                   const ShownVariables* shown = nullptr);

// Puts the program's constant variables where the kernel reads them. False: one is unknown.
// Requires: the kernel can be run.
bool SetConstants(const MachineCode& code, const value::Store& store);

// Puts into the order of value operations: what kernels left in the variable stands where the
// program finds it.
void ShowVariable(const void* image, cubin::Capability device, const ShownVariable& variable);

// The same for a cubin at hand, which may be anything; nothing is kept.
base::Result<MachineCode> ReadMachineCode(std::span<const std::byte> cubin, std::string_view name,
                                          value::Store& store);

}  // namespace eidolon::shim::compute
