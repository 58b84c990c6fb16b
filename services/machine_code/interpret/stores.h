// Derives from a kernel's code where it may write, whatever memory holds.
//
// Registers are followed through the code by their origin (origin.h). A store whose address is a
// sum with one of the launch's pointers stays inside what that pointer leads to, as the program is
// right; one whose address was read from memory may go anywhere. Shared and local memory are each
// taken as one cell.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/machine_code/interpret/bounds.h"
#include "services/machine_code/interpret/flow.h"
#include "services/machine_code/interpret/program.h"

namespace eidolon::interpret {

// One instruction that writes global memory.
struct StoreSite {
  std::uint32_t step = 0;
  std::uint64_t pointers = 0;  // That its address may come from: a bit each; bit 63: any later one.
  bool escapes = false;        // Its address may come from memory.
  bool no_pointer = false;     // Its address may come from neither: a variable of the module.
  bool moves = false;          // Values in memory change its address,
  bool depends = false;        // or whether it happens.
  bool barred = false;         // No value kept it from happening in LaunchFacts::traces.
};

// Facts of a launch beyond its pointers.
struct LaunchFacts {
  std::span<const Decision> decisions{};  // Ways of branches.
  LaunchShape shape{};
  std::span<const BlockTrace> traces{};
};

// Every instruction that may run and writes. `pointers`: offsets of the parameters that are
// pointers, in order. Requires: a translated program.
std::vector<StoreSite> FindStores(const Program& program, std::span<const std::uint32_t> pointers,
                                  const LaunchFacts& facts = {});

// Branches, indirect ones too, and exits under a guard that go the same way in all threads of a
// launch: each runs at most once in a thread, and neither memory nor the thread's place decides it.
// So do reads of global memory under a guard, which happen in all threads or in none. Steps,
// ascending.
std::vector<std::uint32_t> FindSteadyBranches(const Program& program);

}  // namespace eidolon::interpret
