// Where compute capability 10.x differs from 9.0.
#include "services/machine_code/sass/forms.h"

namespace eidolon::sass {
namespace {

using enum Operation;

constexpr Form kForms100[] = {
    {0x010, kFormsB, kIadd3, false, "IADD3{x:74} $d, $P81, $P84, $I, $Bi, $Ci?74(, $N87, $N77)"},
    {0x090, kFormsB, kUiadd3, true, "UIADD3{x:74} $d, $P81, $P84, $I, $Bi, $Ci?74(, $N87, $N77)"},
    {0x097, kFormsB, kUiadd3Wide, true,
     "UIADD3.64{x:74} $d, $P81, $P84, $I, $Bi, $Ci?74(, $N87, $N77)"},
    {0x048, kFormsB, kVimnmx, false, "VIMNMX{vtype:72}{relu:76} $d, $P81, $P84, $a, $Bn, $N87"},
    {0x076, kFormsBC, kFmnmx3, false, "FMNMX3{ftz:80}{nan:81} $d, $A, $Bf, $Cf, $N87"},
    {0x04b, kForm1, kFadd2, false, "FADD2{ftz:80}{rnd:78} $d, $A{pair:81}, $Xf{pair:84}"},
    {0x04b, 1 << 2, kFadd2, false, "FADD2{ftz:80}{rnd:78} $d, $A{pair:81}, $Xf"},
    {0x04a, kForm1, kFmul2, false, "FMUL2{ftz:80}{rnd:78} $d, $A{pair:81}, $Bf{pair:87}"},
    {0x04a, kForm4, kFmul2, false, "FMUL2{ftz:80}{rnd:78} $d, $A{pair:81}, $Bf"},
    {0x049, kForm1, kFfma2, false,
     "FFMA2{ftz:80}{rnd:78} $d, $A{pair:81}, $Bf{pair:87}, $Cf{pair:84}"},
    {0x049, 1 << 2, kFfma2, false, "FFMA2{ftz:80}{rnd:78} $d, $A{pair:81}, $Bf{pair:87}, $Cf"},
    {0x049, kForm4, kFfma2, false, "FFMA2{ftz:80}{rnd:78} $d, $A{pair:81}, $Bf, $Cf{pair:84}"},
    {0x045, kFormsB, kI2fp, false, "I2FP.F32{us32:74}?79(.RZ) $d, $Bn"},
    {0x0ca, kForm1, kR2ur, false,
     "R2UR?84(.OR)?86(.FILL)?87(.BROADCAST) ?84($P81, )?!84($p81)$U16, $R24"},
    {0x0cc, kForm1, kCredux, false,
     "CREDUX?79(.MIN)?!79(.MAX)?78(ABS){cred:73}?77(.NAN) $U16, $R24"},
    {0x147, kForm4 | 1 << 2, kBra, false, ""},
    {0x141, kForm4, kBsync, false, "BSYNC{converge:72} ?p87($N87, )B$n16"},
    {0x142, kForm4, kBreak, false, "BREAK{converge:72} ?p87($N87, )B$n16"},
    {0x145, kForm4, kBssy, false, "BSSY{converge:72} ?p87($N87, )B$n16, $b"},
    {0x083, kForm4, kUp2ur, true, "UP2UR{byte:76} $d, UPR, $a, $x32.32"},
    {0x1ac, 1 << 3, kUldc, true, "LDCU{size:73} $d, $cW"},
    {0x17e, 1 << 4, kLdgWide, false, "LDG.E{evict:84}.ENL2{ltc:73}.256{load:77} $R64, $d, $gL"},
    {0x17f, 1 << 4, kStgWide, false, "STG.E{evict:84}.ENL2.256{store:77} $gS, $R32, $R16"},
    {0x1ae, kAnyForm, kLdgsts, false,
     "LDGSTS.E{bypass:81}{evict:84}{ltc:72}{copysize:74}{load:77}?82(.ZFILL) $gB?p87(, $N87)"},
    {0x18d, 1 << 2, kAtomsCas, false, "ATOMS{cas:87}{atype:73} $P81, $sN, $R32, $R64"},
    {0x002, kFormsB, kMov, false, "MOV?88(.SPILL) $d, $Bn"},
    {0x0b9, kAnyForm, kNone, false, ""},
    {0x0bb, kAnyForm, kNone, false, ""},
};

}  // namespace

std::span<const Form> Forms100() { return kForms100; }

}  // namespace eidolon::sass
