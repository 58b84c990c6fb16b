// Learns a kernel's footprint from its code, a launch, and the stores that were found in it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/machine_code/interpret/run.h"
#include "services/machine_code/interpret/stores.h"
#include "shim/value/compute/launch_pointers.h"

namespace eidolon::shim::compute {

using Stores = std::vector<interpret::StoreSite>;

// `stores`: of the program, with these pointers. `whole`: the launch is small enough for all of its
// blocks to be run. `launch.parameters` hold the pointers. `store`: the module's variables are read
// from there.
struct Learning {
  const interpret::Program& program;
  const interpret::Launch& launch;
  const LaunchPointers& pointers;
  const Stores& stores;
  std::span<const Arena::Range> variables;  // All of the module's.
  bool whole = false;
  // interpret::FindSteadyBranches(program), where somebody has them.
  const std::vector<std::uint32_t>* steady = nullptr;
  // If given, receives a mark for each word of the parameters that the answer depends on.
  std::vector<std::uint8_t>* words_read = nullptr;
  // If given, is set where a variable of the module was read. Then the answer holds for what the
  // variables are now, and where they lie in this process.
  bool* saw_variables = nullptr;
};

}  // namespace eidolon::shim::compute
