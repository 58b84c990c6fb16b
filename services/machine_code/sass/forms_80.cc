// Where compute capability 8.x differs from 9.0.
#include "services/machine_code/sass/forms.h"

namespace eidolon::sass {
namespace {

using enum Operation;

constexpr Form kForms80[] = {
    {0x017, kFormsB, kImnmx, false, "IMNMX{u32:73} $d, $a, $Bn, $N87"},
    {0x03e, kFormsB, kF2fp, false,
     "F2FP{satfinite:77}{relu:75}{hbf16:76}{packto:78}{packrnd:79} $d, $a, $Bn"},
    {0x14e, kForm1, kLepc, false, "LEPC $d"},
    {0x14e, kForm4, kNone, false, ""},
    {0x1c2, kForm1, kR2ur, false, "R2UR?84(.OR) ?84($P81, )?!84($p81)$U16, $R24"},
    {0x0ca, kForm1, kNone, false, ""},
    {0x18e, kAnyForm, kRed, false,
     "RED{e:72}{atom:87.3}{evict:84}{atype80:73}{store:77} $gA, $R32"},
    {0x1a6, kAnyForm, kNone, false, ""},
    {0x18a, kAnyForm, kAtom, false,
     "ATOM{e:72}{atom:87}{evict:84}{atype80:73}{store:77} $P81, $d, $gA, $R32"},
    {0x1a8, kAnyForm, kAtom, false,
     "ATOMG{e:72}{atom:87}{evict:84}{atype80:73}{store:77} $P81, $d, $gA, $R32"},
    {0x1a2, kAnyForm, kNone, false, ""},
    {0x1a3, kAnyForm, kNone, false, ""},
    // Operations since 9.0 only.
    {0x048, kAnyForm, kNone, false, ""},
    {0x00f, kAnyForm, kNone, false, ""},
    {0x046, kAnyForm, kNone, false, ""},
    {0x036, kAnyForm, kNone, false, ""},
    {0x02f, kAnyForm, kNone, false, ""},
    {0x097, kAnyForm, kNone, false, ""},
    {0x02d, kAnyForm, kNone, false, ""},
    {0x02e, kAnyForm, kNone, false, ""},
    {0x044, kAnyForm, kNone, false, ""},
    {0x11b, kAnyForm, kNone, false, ""},
    {0x1ab, 1 << 2, kNone, false, ""},
    {0x1ae, kAnyForm, kLdgsts, false,
     "LDGSTS.E{bypass:81}{evict:84}?72(.LTC128B){size:73}{load:77}?82(.ZFILL) $gB?p87(, $N87)"},
};

}  // namespace

std::span<const Form> Forms80() { return kForms80; }

}  // namespace eidolon::sass
