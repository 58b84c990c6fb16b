// Attribute of ours beside cuDNN's own: the value that a program gives at execution for a tensor of
// one whole number that is passed by value, such as a mask's bound.
#pragma once

#include <cstdint>

namespace eidolon::workload {

// Value in the place of a cudnnBackendAttributeName_t.
inline constexpr std::uint32_t kDnnValue = 0xffffffff;

}  // namespace eidolon::workload
