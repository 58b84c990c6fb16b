// Printing of what the forms' text cannot describe.
#pragma once

#include <cstdint>
#include <string>

#include "services/machine_code/sass/form.h"

namespace eidolon::sass {

// "0x2a", and with a sign "-0x2a".
std::string Hex(std::uint64_t value);
std::string SignedHex(std::int64_t value);

// SHFL, BRA, WARPSYNC, BAR, NANOSLEEP, DEPBAR. Requires: the form has no text.
std::string PrintSpecial(const Word& word, const Form& form, std::uint64_t address,
                         Dialect dialect);

// An address operand; `role` as behind $g and $s in print.h.
std::string MemoryAddress(const Word& word, const Form& form, bool global, char role,
                          Dialect dialect);

// IMAD prints as what it is used for: a move, a shift, an addition.
void NameMultiplyAdd(const Word& word, std::string& text);

// True when immediates of the operation print without a sign.
bool PrintsUnsigned(Operation operation);

// The predicate that a load writes or reads besides its data; stored inverted.
std::string LoadPredicate(const Word& word);

}  // namespace eidolon::sass
