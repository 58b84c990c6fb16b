// Words of other dialects in the terms of 9.0's encoding, so that each operation has one handler.
#pragma once

#include <optional>

#include "services/sass/word.h"

namespace eidolon::interpret {

inline constexpr sass::Dialect kCanonical = sass::Dialect::k90;

// The word of 9.0 that does the same; nullopt when there is none, or the word is not known.
std::optional<sass::Word> Canonical(const sass::Word& word, sass::Dialect dialect);

}  // namespace eidolon::interpret
