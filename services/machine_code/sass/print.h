// Instructions as text, as the vendor's disassembler writes them (without ".reuse", which only
// schedules).
//
// A form's text is copied, except for
//   {list:at}      the word of a modifier list (modifier.h) for the number at bit `at`;
//                  {list:at.width+at.width} joins fields, low one first
//   $P81 $p81      predicate at a bit; the small letter: with a comma, left out when it is PT
//   $Q81           uniform predicate
//   $N87 $M87      predicate, uniform predicate, with a negation in the fourth bit
//   $R24 $U24      register, uniform register at a bit; $d $a: the form's own kind at 16, at 24
//   $A             $a with float negation (72) and absolute value (73)
//   $I             $a with integer negation (72), ~ instead of - when bit 74 (carry in) is set
//   $hA $kA        $a as a pair of halves with, without choice of halves
//   $B $C $X       slot B, C, at bit 32, then one letter: f float, d double, h k halves, i integer
//                  with negation, n plain integer
//   $x72.8         number in hexadecimal
//   $gL $gS $gA    global address of a load, store, atomic; $sL $sS shared or local
//   $c             constant operand; $cR indexed by a register, $cU by a uniform one,
//                  $cW the same in 10.x; $t branch target; $o its offset alone; $l target of LEPC
//   $S72           special register
//   ?74( ) ?!74( ) text that is there when a bit is set, is not set
//   ?p87( )        text that is there unless the predicate at a bit is PT
#pragma once

#include <cstdint>
#include <string>

#include "services/machine_code/sass/word.h"

namespace eidolon::sass {

// `address`: of the word in its section; branch targets depend on it. Unknown words print as
// "unknown" with their opcode.
std::string Print(const Word& word, std::uint64_t address, Dialect dialect);

}  // namespace eidolon::sass
