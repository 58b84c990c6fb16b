// Maps an operation to the function that executes it. By topic; nullptr for what a topic does not
// have, or does not have in this word's variant.
#pragma once

#include <cstdint>

#include "services/machine_code/interpret/program.h"

namespace eidolon::interpret {

Handler FindFloatHandler(sass::Operation operation, const sass::Word& word);
Handler FindHalfHandler(sass::Operation operation, const sass::Word& word);
Handler FindConvertHandler(sass::Operation operation, const sass::Word& word);
Handler FindIntegerHandler(sass::Operation operation, const sass::Word& word);
Handler FindBitHandler(sass::Operation operation, const sass::Word& word);
Handler FindPredicateHandler(sass::Operation operation, const sass::Word& word);
Handler FindUniformHandler(sass::Operation operation, const sass::Word& word);
Handler FindMemoryHandler(sass::Operation operation, const sass::Word& word);
Handler FindAtomicHandler(sass::Operation operation, const sass::Word& word);
Handler FindMatrixHandler(sass::Operation operation, const sass::Word& word);
Handler FindControlHandler(sass::Operation operation, const sass::Word& word);

// The block's barrier that BAR names, as the first of these lanes sees it. Requires: mask != 0.
std::uint32_t BarrierOf(Warp& warp, const sass::Word& word, std::uint32_t mask);

}  // namespace eidolon::interpret
