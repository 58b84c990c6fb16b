// Which of a kernel's pointers it does not write through, by the types in its mangled name: where
// its stores cannot be followed, the others are those that it may have written.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace eidolon::shim::compute {

// Places in the parameter block of pointers to const. None when the name does not tell where each
// parameter lies: it is not C++, or a parameter is a structure.
std::vector<std::uint32_t> ReadOnlyParameters(std::string_view mangled);

}  // namespace eidolon::shim::compute
