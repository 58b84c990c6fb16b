#include "services/timing/kernel/operand_axes.h"

#include "services/contract/torch_layout/offset_calculator.h"

namespace eidolon::timing::kernel {

using torch_layout::OffsetCalculator;

std::vector<Axes> AxesOf(const Parameters& parameters, std::size_t at, std::size_t operands) {
  const auto dims = parameters.At<std::int32_t>(at);
  if (!dims || *dims < 1 || *dims > static_cast<std::int32_t>(OffsetCalculator::kDimensions))
    return {};
  const OffsetCalculator layout{.operands = static_cast<std::uint32_t>(operands)};
  std::vector<Axes> all(operands);
  for (std::size_t arg = 0; arg < operands; ++arg) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(*dims); ++d) {
      const auto size = parameters.At<std::uint32_t>(at + OffsetCalculator::SizeAt(d));
      const auto stride = parameters.At<std::uint32_t>(at + layout.StrideAt(d, arg));
      if (!size || !stride || *size == 0) return {};
      all[arg].push_back({*size, *stride});
    }
  }
  return all;
}

}  // namespace eidolon::timing::kernel
