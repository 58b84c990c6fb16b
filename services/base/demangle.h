// Names of C++ symbols as their source has them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace eidolon::base {

// Longer symbols are left alone: the time that one takes grows faster than its length.
inline constexpr std::size_t kMangledMax = 8192;

// Nor may a name be longer than this, in bytes: symbols refer back to their own parts, so that 300
// bytes can stand for a gigabyte.
inline constexpr std::size_t kDemangledMax = 65536;

// Nothing for what is not mangled, or is longer than kMangledMax or kDemangledMax. The demangler,
// as that of libstdc++, also leaves symbols of more than 1,024 bytes alone: it might recurse too
// deeply.
std::optional<std::string> Demangle(std::string_view symbol);

}  // namespace eidolon::base
