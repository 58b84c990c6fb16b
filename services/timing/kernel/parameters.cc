#include "services/timing/kernel/parameters.h"

#include <algorithm>

#include "services/contract/workload/pointer_tag.h"

namespace eidolon::timing::kernel {

std::optional<std::int64_t> Parameters::Integer(std::size_t index) const {
  const auto slot = Slot(index);
  if (!slot) return std::nullopt;
  switch (slot->bytes) {
    case 1:
      return At<std::int8_t>(slot->offset);
    case 2:
      return At<std::int16_t>(slot->offset);
    case 4:
      return At<std::int32_t>(slot->offset);
    case 8:
      if (IsPointer(slot->offset)) return std::nullopt;
      return At<std::int64_t>(slot->offset);
    default:
      return std::nullopt;
  }
}

bool Parameters::IsPointer(std::size_t offset) const {
  const auto word = At<std::uint64_t>(offset);
  return word && workload::IsBlankedPointer(*word);
}

int Parameters::PointerCount(std::size_t begin, std::size_t end) const {
  int count = 0;
  for (std::size_t at = (begin + 7) / 8 * 8; at + 8 <= std::min(end, size()); at += 8) {
    if (IsPointer(at)) ++count;
  }
  return count;
}

}  // namespace eidolon::timing::kernel
