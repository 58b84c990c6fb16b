// The words that numbers in instruction fields stand for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace eidolon::sass {

// The list's words by number; empty when there is no such list.
std::span<const std::string_view> FindModifiers(std::string_view list);

// The name of a special register as in S2R; empty when unknown.
std::string_view SpecialRegisterName(std::uint32_t number);

}  // namespace eidolon::sass
