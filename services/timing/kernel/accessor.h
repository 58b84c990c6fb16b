// Reads a tensor that a kernel gets as a GenericPackedTensorAccessor from its parameter. Internal
// to this folder.
#pragma once

#include <cstddef>
#include <optional>

#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {

// Numbers that the kernel's code does not read are zero; a size is then the quotient of two
// strides.
struct Accessor {
  std::size_t dims = 0;
  double elements = 0;  // 0: not known.
  double inner = 0;     // Of the last dimension.
  double plane = 0;     // Of the last two.
};

// Nothing when the parameter is something else.
std::optional<Accessor> AccessorOf(const Launch& l, std::size_t slot);

}  // namespace eidolon::timing::kernel
