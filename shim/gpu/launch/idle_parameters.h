// Bytes of a kernel's parameters that no thread of a launch reads, which programs leave to chance:
// empty functors, padding, arrays that are filled in part. Zeroed, equal work is the same work in
// every launch and every process, so that profiles and caches know it again. So are numbers that
// are read but change nothing about how long a launch takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "services/contract/torch_layout/offset_calculator.h"
#include "services/contract/torch_layout/tensor_list.h"
#include "services/contract/workload/work.h"
#include "services/machine_code/interpret/constant_reads.h"
#include "shim/gpu/launch/found_words.h"
#include "shim/gpu/module/module.h"
#include "shim/value/compute/launch.h"

namespace eidolon::shim::gpu {

// Immutable, so any thread may ask.
class IdleParameters {
 public:
  // `reads`: what the code can read; nullptr when the code is not understood, and then everything
  // counts as read but what the launch's own tables tell.
  IdleParameters(std::string_view name, std::span<const cubin::Parameter> parameters,
                 const std::vector<interpret::ParameterRead>* reads);

  // Zeroes them in a block as the device would read it, pointers included.
  void Clear(std::byte* block, const workload::Dim3& grid) const;

  // Numbers that tell neither sizes nor places, such as the scalars of an optimizer's step: zeroes
  // them too, and tells those that were not zero, as words of four bytes, to `found`. Requires:
  // Clear, and pointers blanked.
  void TakeNumbers(std::byte* block, FoundWords<compute::NumberWord>& found) const;

  // Begin and end, for tests.
  const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ranges() const { return ranges_; }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges_;  // Begin, end.
  // Structures and where they begin.
  std::optional<std::pair<std::uint32_t, torch_layout::TensorLists>> lists_;
  std::optional<std::pair<std::uint32_t, torch_layout::ConcatenatedInputs>> inputs_;
  std::optional<std::uint32_t> output_shape_;                     // Of the concatenation.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> numbers_;  // Begin, end, of whole words.
  torch_layout::CalculatorUse calculators_ = torch_layout::CalculatorUse::kNone;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> calculator_places_;  // Offset, bytes.
};

// Of a kernel, read from its code the first time. Thread safe; lives as long as the process.
const IdleParameters& IdleParametersOf(const Kernel& kernel);

}  // namespace eidolon::shim::gpu
