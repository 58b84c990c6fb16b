#include "services/machine_code/sass/forms.h"

namespace eidolon::sass {
namespace {

using enum Operation;

constexpr Form kIntegerForms[] = {
    {0x010, kFormsB, kIadd3, false, "IADD3{x:74} $d, $p81$p84$I, $Bi, $Ci?74(, $N87, $N77)"},
    {0x011, kFormsB, kLea, false,
     "LEA{hi:80}{x:74}{sx32:73} $d, $p81$I, $Bi?80(?!73(, $Cn)), $x75.5?74(, $N87)"},
    {0x012, kFormsB, kLop3, false, "LOP3.LUT{pand:80} $p81$d, $a, $Bn, $Cn, $x72.8, $N87"},
    {0x013, kFormsB, kIabs, false, "IABS $d, $Bn"},
    {0x016, kFormsBC, kPrmt, false, "PRMT{prmt:72} $d, $a, $Bn, $Cn"},
    {0x019, kFormsBC, kShf, false, "SHF{lr:76}{w:75}{shift:73}{hi:80} $d, $a, $Bn, $Cn"},
    {0x01a, kFormsB, kSgxt, false, "SGXT{w:75}{u32:73} $d, $a, $Bn"},
    {0x01b, kFormsB, kBmsk, false, "BMSK{w:75} $d, $a, $Bn"},
    {0x024, kFormsBC, kImad, false, "IMAD{u32:73}{x:74} $d, $a, $Bn, $Ci?74(, $N87)"},
    {0x025, kFormsBC, kImadWide, false, "IMAD.WIDE{u32:73}{x:74} $d, $p81$a, $Bn, $Ci?74(, $N87)"},
    {0x027, kFormsBC, kImadHi, false, "IMAD.HI{u32:73}{x:74} $d, $p81$a, $Bn, $Ci?74(, $N87)"},
    {0x026, kFormsBC, kIdp, false, "IDP.4A{dot:73}{dot:74} $d, $a, $Bn, $Ci"},
    {0x00c, kFormsB, kIsetp, false,
     "ISETP{icmp:76}{u32:73}{bop:74}{ex:72} $P81, $P84, $a, $Bn, $N87?72(, $N68)"},
    {0x048, kFormsB, kVimnmx, false, "VIMNMX{vtype:72}{relu:76} $d, $a, $Bn, $N87"},
    {0x00f, kFormsBC, kVimnmx3, false, "VIMNMX3{vtype:72}{relu:76} $d, $a, $Bn, $Cn, $N87"},
    {0x046, kFormsBC, kViaddmnmx, false, "VIADDMNMX{vtype:72}{relu:76} $d, $a, $Bi, $Cn, $N87"},
    {0x036, kFormsB, kViadd, false, "VIADD{x2:73} $d, $a, $Bi"},
    {0x007, kFormsB, kSel, false, "SEL $d, $a, $Bn, $N87"},
    {0x002, kFormsB, kMov, false, "MOV $d, $Bn"},
    {0x109, kFormsB, kPopc, false, "POPC $d, ?63(~)$Bn"},
    {0x100, kFormsB, kFlo, false, "FLO{u32:73}{sh:74} $d, $p81?63(~)$Bn"},
    {0x101, kFormsB, kBrev, false, "BREV $d, $Bn"},
    {0x01c, kForm4, kPlop3, false,
     "PLOP3.LUT $P81, $P84, $N87, $N77, ?67($M68)?!67($N68), $x64.3+72.5, $x16.8"},
    {0x003, kForm4, kP2r, false, "P2R{byte:76} $d, PR, $a, $x32.32"},
    {0x004, kForm4, kR2p, false, "R2P PR, $a{byte:76}, $x32.32"},
    {0x006, kForm4, kVote, false, "VOTE{vote:72} ?r16($d, )$v81$N87"},
    {0x1a1, kForm1, kMatch, false, "MATCH?79(.ANY)?!79(.ALL)?73(.U64) ?!79($P81, )$d, $a"},
    {0x119, kForm4, kS2r, false, "S2R $d, $S72"},
    {0x005, kForm4, kCs2r, false, "CS2R?!80(.32) $d, $S72"},
    {0x1c4, kForm1, kRedux, false, "REDUX{reduce:78}{s32:73} $U16, $R24"},
    {0x0ca, kForm1, kR2ur, false, "R2UR?84(.OR) ?84($P81, )?!84($p81)$U16, $R24"},
    {0x02f, kForm4, kElect, false, "ELECT $P81, $U16, $N87"},
};

}  // namespace

std::span<const Form> IntegerForms() { return kIntegerForms; }

}  // namespace eidolon::sass
