#include "services/timing/kernel/accessor.h"

#include <algorithm>
#include <string>

#include "services/contract/torch_layout/tensor_view.h"

namespace eidolon::timing::kernel {

using torch_layout::PackedAccessor;

std::optional<Accessor> AccessorOf(const Launch& l, std::size_t slot) {
  const auto where = l.parameters.Slot(slot);
  if (!where || slot >= l.name.parameters.size()) return std::nullopt;
  const std::string& type = l.name.parameters[slot];
  if (type.find("PackedTensorAccessor") == std::string::npos) return std::nullopt;
  const std::size_t index_bytes = type.ends_with("long>") ? 8 : 4;
  if (where->bytes < PackedAccessor::BytesMin(index_bytes)) return std::nullopt;
  auto layout = PackedAccessor::OfBytes(where->bytes, index_bytes);
  layout.dimensions = std::min<std::size_t>(layout.dimensions, 8);
  const std::size_t dims = layout.dimensions;
  const auto number = [&](std::size_t offset) -> double {
    const std::size_t at = where->offset + offset;
    return index_bytes == 8 ? static_cast<double>(l.parameters.At<std::int64_t>(at).value_or(0))
                            : l.parameters.At<std::int32_t>(at).value_or(0);
  };
  Accessor accessor{dims, 1};
  for (std::size_t d = 0; d < dims; ++d) {
    double size = number(layout.SizeAt(d));
    const double outer = d > 0 ? number(layout.StrideAt(d - 1)) : 0;
    const double inner = number(layout.StrideAt(d));
    if (size <= 0 && outer > 0 && inner > 0) size = outer / inner;
    accessor.elements *= std::max(size, 0.0);
    accessor.plane = accessor.inner * std::max(size, 0.0);
    accessor.inner = std::max(size, 0.0);
  }
  return accessor;
}

}  // namespace eidolon::timing::kernel
