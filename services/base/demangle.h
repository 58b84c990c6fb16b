// Names of C++ symbols as their source has them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace eidolon::base {

// Longer symbols are left alone: the time that one takes grows faster than its length.
inline constexpr std::size_t kMangledMax = 8192;

// Nothing for what is not mangled, or is longer than kMangledMax.
std::optional<std::string> Demangle(std::string_view symbol);

}  // namespace eidolon::base
