// What launches of an optimizer's kernels tell of tensors: which are parameters, gradients and the
// optimizer's state. For the memory counters of a timeline; whoever wants none pays one load for a
// launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "services/contract/torch_layout/optimizer_lists.h"
#include "services/machine_code/cubin/code.h"
#include "shim/core/session.h"
#include "shim/gpu/module/module.h"

namespace eidolon::shim::gpu {

// Immutable, so any thread may ask.
class OptimizerKernel {
 public:
  // `name`: mangled. Of other kernels it has no tensors.
  OptimizerKernel(std::string_view name, std::span<const cubin::Parameter> parameters);

  // Of a launch of so many blocks; `block` is as the device would read it.
  std::vector<torch_layout::ListedTensor> TensorsOf(std::span<const std::byte> block,
                                                    std::uint32_t launched) const;

 private:
  struct Known {
    torch_layout::OptimizerLists optimizer;
    torch_layout::TensorLists lists;
    std::uint32_t offset = 0;  // Of the lists in the block.
  };
  std::optional<Known> known_;
};

// Tells the agent of the launch's tensors, if the kernel is an optimizer's and a timeline is made.
// Requires: pointers are not blanked yet.
void TellOptimizerTensors(core::Session& session, const Kernel& kernel, std::uint32_t launched,
                          std::span<const std::byte> block, int device);

}  // namespace eidolon::shim::gpu
