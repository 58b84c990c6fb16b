#include "services/machine_code/sass/forms.h"

namespace eidolon::sass {
namespace {

using enum Operation;

constexpr Form kControlForms[] = {
    {0x147, kForm4, kBra, false, ""},
    {0x149, kForm4, kBrx, false, "BRX ?p87($N87, )$R24 $o"},
    {0x158, kForm4, kBrxu, false, "BRXU ?p87($N87, )$U24 $o"},
    {0x144, kForm4, kCall, false, "CALL.REL?86(.NOINC) ?p87($N87, )$t"},
    {0x143, kForm1, kCallAbsolute, false, "CALL.ABS?86(.NOINC) ?p87($N87, )$R24"},
    {0x150, kForm4, kRet, false, "RET?!85(.REL)?85(.ABS)?86(.NODEC) ?p87($N87, )$R24 $t"},
    {0x14d, kForm4, kExit, false, "EXIT?p87( $N87)"},
    {0x145, kForm4, kBssy, false, "BSSY ?p87($N87, )B$n16, $b"},
    {0x141, kForm4, kBsync, false, "BSYNC ?p87($N87, )B$n16"},
    {0x142, kForm4, kBreak, false, "BREAK ?p87($N87, )B$n16"},
    {0x155, kForm1, kBmovToRegister, false, "BMOV.32{clear:84} $d, B$n24"},
    {0x156, kForm1, kBmovFromRegister, false, "BMOV.32?84(.PQUAD) B$n24, $R32"},
    {0x148, kForm1 | kForm4, kWarpsync, false, ""},
    {0x11d, 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5, kBar, false, ""},
    {0x11c, kForm1, kB2r, false, "B2R.RESULT $d, $P81"},
    {0x146, kForm4, kYield, false, "YIELD?p87( $N87)"},
    {0x118, kForm4, kNop, false, "NOP"},
    {0x15d, kForm1 | kForm4, kNanosleep, false, ""},
    {0x192, kForm4, kMembar, false, "MEMBAR{order:79}{scope:76}"},
    {0x1ab, kForm4, kErrbar, false, "ERRBAR"},
    {0x1ab, 1 << 2, kErrbar, false, "CGAERRBAR"},
    {0x11b, kForm4, kEndcollective, false, "ENDCOLLECTIVE"},
    {0x02e, kForm4, kNop, false, "ACQBULK"},
    {0x1af, kForm4, kLdgdepbar, false, "LDGDEPBAR"},
    {0x11a, kForm4, kDepbar, false, ""},
    {0x18f, kForm4, kCctl, false, "CCTL.IVALL"},
    {0x15c, kForm4, kBpt, false, "BPT.TRAP $x34.20"},
    {0x14e, kForm4, kLepc, false, "LEPC $d, $l"},
    {0x02d, kForm4, kPreexit, false, "PREEXIT"},
};

}  // namespace

std::span<const Form> ControlForms() { return kControlForms; }

}  // namespace eidolon::sass
