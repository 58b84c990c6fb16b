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
// bytes can stand for a gigabyte. The longest name in PyTorch 2.15 and cuBLAS has 9,899 bytes.
inline constexpr std::size_t kDemangledMax = 65536;

// Nothing for what is not mangled, or is longer than kMangledMax or kDemangledMax.
std::optional<std::string> Demangle(std::string_view symbol);

}  // namespace eidolon::base
