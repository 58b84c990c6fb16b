#include "services/machine_code/sass/forms.h"

namespace eidolon::sass {
namespace {

using enum Operation;

constexpr Form kUniformForms[] = {
    {0x090, kFormsB, kUiadd3, true, "UIADD3{x:74} $d, $p81$p84$I, $Bi, $Ci?74(, $N87, $N77)"},
    {0x097, kFormsB, kUiadd3Wide, true,
     "UIADD3.64{x:74} $d, $p81$p84$I, $Bi, $Ci?74(, $N87, $N77)"},
    {0x091, kFormsB, kUlea, true,
     "ULEA{hi:80}{x:74}{sx32:73} $d, $p81$I, $Bi?80(?!73(, $Cn)), $x75.5?74(, $N87)"},
    {0x092, kFormsB, kUlop3, true, "ULOP3.LUT{pand:80} $p81$d, $a, $Bn, $Cn, $x72.8, $N87"},
    {0x099, kFormsBC, kUshf, true, "USHF{lr:76}{w:75}{shift:73}{hi:80} $d, $a, $Bn, $Cn"},
    {0x09b, kFormsB, kUbmsk, true, "UBMSK{w:75} $d, $a, $Bn"},
    {0x09c, kForm4, kUplop3, true, "UPLOP3.LUT $P81, $P84, $N87, $N77, $N68, $x64.3+72.5, $x16.8"},
    {0x0a4, kFormsBC, kUimad, true, "UIMAD{u32:73}{x:74} $d, $a, $Bn, $Ci?74(, $N87)"},
    {0x0a5, kFormsBC, kUimadWide, true, "UIMAD.WIDE{u32:73}{x:74} $d, $p81$a, $Bn, $Ci?74(, $N87)"},
    {0x08c, kFormsB, kUisetp, true,
     "UISETP{icmp:76}{u32:73}{bop:74}{ex:72} $P81, $P84, $a, $Bn, $N87?72(, $N68)"},
    {0x087, kFormsB, kUsel, true, "USEL $d, $a, $Bn, $N87"},
    {0x082, kFormsB, kUmov, true, "UMOV $d, $Bn"},
    {0x096, kFormsBC, kUprmt, true, "UPRMT{prmt:72} $d, $a, $Bn, $Cn"},
    {0x0bd, kFormsB, kUflo, true, "UFLO{u32:73}{sh:74} $d, $p81?63(~)$Bn"},
    {0x0bf, kFormsB, kUpopc, true, "UPOPC $d, ?63(~)$Bn"},
    {0x0be, kFormsB, kUbrev, true, "UBREV $d, $Bn"},
    {0x086, kForm4, kVoteu, false, "VOTEU{vote:72} ?u16($U16, )$Q81, $N87"},
    {0x0b9, 1 << 5, kUldc, true, "ULDC{size:73} $d, $c"},
    {0x0bb, 1 << 5, kUldc, true, "ULDC{size:73} $d, $cU"},
    {0x1c3, kForm4, kS2ur, true, "S2UR $d, $S72"},
};

}  // namespace

std::span<const Form> UniformForms() { return kUniformForms; }

}  // namespace eidolon::sass
