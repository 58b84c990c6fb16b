// Tells the agent what a program gives to its models and takes from its data loaders
// (services/contract/ring/program_inputs.h), by some functions of PyTorch that are written in
// Python. Only where functions of Python are counted (hostModel.kind counted): core/frame_count.h.
#pragma once

#include <cstdint>
#include <string_view>

namespace eidolon::shim::torch_inputs {

// Functions that are observed.
enum class Function : std::uint8_t {
  kNone = 0,
  kModuleCall,      // Module._call_impl, which each call of a module goes through.
  kNextIndex,       // Of a DataLoader's iterator: the indices of the samples of a batch.
  kContextParallel  // Ranks share sequences from then on.
};

// Returns which function that is, by its file and its name.
Function FunctionOf(std::string_view file, std::string_view name);

// Observes the program from now on. Called when PyTorch runs its first operator.
void ObserveInputs() noexcept;

}  // namespace eidolon::shim::torch_inputs
