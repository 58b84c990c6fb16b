// Words of other dialects in the terms of 9.0's encoding, so that each operation has one handler.
// Those of 10.x keep theirs where it has wider fields or more operations (CanonicalDialect).
#pragma once

#include <optional>

#include "services/machine_code/sass/word.h"

namespace eidolon::interpret {

// Returns what the words of a dialect become.
constexpr sass::Dialect CanonicalDialect(sass::Dialect dialect) {
  return dialect == sass::Dialect::k80 ? sass::Dialect::k90 : dialect;
}

// The word that does the same; nullopt when there is none that can be run, or the word is not
// known.
std::optional<sass::Word> Canonical(const sass::Word& word, sass::Dialect dialect);

}  // namespace eidolon::interpret
