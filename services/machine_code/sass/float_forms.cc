#include "services/machine_code/sass/forms.h"

namespace eidolon::sass {
namespace {

using enum Operation;

constexpr Form kFloatForms[] = {
    {0x021, kFormsB | kFormsC, kFadd, false, "FADD{ftz:80}{rnd:78}{sat:77} $d, $A, $Xf"},
    {0x020, kFormsB, kFmul, false, "FMUL{fmz:76}{scale:84}{ftz:80}{rnd:78}{sat:77} $d, $A, $Bf"},
    {0x023, kFormsBC, kFfma, false, "FFMA{fmz:76}{ftz:80}{rnd:78}{sat:77} $d, $A, $Bf, $Cf"},
    {0x008, kFormsB, kFsel, false, "FSEL{ftz:80} $d, $A, $Bf, $N87"},
    {0x009, kFormsB, kFmnmx, false, "FMNMX{ftz:80}{nan:81}{xorsign:82} $d, $A, $Bf, $N87"},
    {0x00a, kFormsB, kFset, false, "FSET.BF{fcmp:76}{ftz:80}{bop:74} $d, $A, $Bf, $N87"},
    {0x00b, kFormsB, kFsetp, false, "FSETP{fcmp:76}{ftz:80}{bop:74} $P81, $P84, $A, $Bf, $N87"},
    {0x102, kFormsB, kFchk, false, "FCHK $P81, $A, $Bf"},
    {0x108, kFormsB & ~kForm1, kMufu, false, "MUFU{mufu:74}{mform:72.2} $d, $Bf"},
    {0x108, kForm1, kMufu, false, "MUFU{mufu:74}{mform:72.2} $d, $Bf{mpart:60.2}"},
    {0x029, kFormsC, kDadd, false, "DADD{rnd:78} $d, $A, $Cd"},
    {0x028, kFormsB, kDmul, false, "DMUL{rnd:78} $d, $A, $Bd"},
    {0x02b, kFormsBC, kDfma, false, "DFMA{rnd:78} $d, $A, $Bd, $Cd"},
    {0x02a, kFormsB | kFormsC, kDsetp, false, "DSETP{dcmp:76}{bop:74} $P81, $P84, $A, $Xd, $N87"},
    {0x030, kFormsB | kFormsC, kHadd2, false, "HADD2{bf:85}{f32:78}{ftz:80}{sat:77} $d, $hA, $Xh"},
    {0x032, kFormsB, kHmul2, false, "HMUL2{bf:85}{fmz:76}{ftz:80}{sat:77} $d, $hA, $Xh"},
    {0x031, kFormsBC, kHfma2, false,
     "HFMA2{bf:85}{fmz:76}{ftz:80}{sat:77}{relu:79} $d, $hA, $Bh, $Ch"},
    {0x035, kFormsBC, kHfma2Mma, false,
     "HFMA2.MMA{bf:85}{fmz:76}{ftz:80}{sat:77}{relu:79} $d, $kA, $Bk, $Ck"},
    {0x040, kFormsB, kHmnmx2, false,
     "HMNMX2{bf:85}{ftz:80}{nan:81}{xorsign:82} $d, $hA, $Xh, $N87"},
    {0x033, kFormsB | kFormsC, kHset2, false,
     "HSET2{hfmt:64}{hbf:71}{fcmp:76}{ftz:80}{bop:69} $d, $hA, $Xh, $N87"},
    {0x034, kFormsB | kFormsC, kHsetp2, false,
     "HSETP2{hfmt:64}{fcmp:76}{ftz:80}{hand:71}{bop:69} $P81, $P84, $hA, $Xh, $N87"},
    {0x03c, kForm1, kHmma, false, "HMMA{mshape:75.1+78.1}{mresult:76}{mtype:82} $d, $a, $Bn, $Cn"},
    {0x03e, kFormsB, kF2fp, false,
     "F2FP{satfinite:77}{relu:75}{pack:76.1+86.2}.F32{packto:78}{packrnd:79} $d, $a, $Bn"},
    {0x104, kFormsB, kF2f, false, "F2F{ftz:80}{ftype:75}{ftype:84}{rnd:78} $d, $Bf"},
    {0x110, kFormsB, kF2f, false, "F2F{ftz:80}{ftype:75}{ftype:84}{rnd:78} $d, $Bf"},
    {0x105, kFormsB, kF2i, false,
     "F2I{ftz:80}{itype:72.1+75.2}{fsource:84}{irnd:78}{ntz:77} $d, $Bf"},
    {0x111, kFormsB, kF2i, false,
     "F2I{ftz:80}{itype:72.1+75.2}{fsource:84}{irnd:78}{ntz:77} $d, $Bf"},
    {0x106, kFormsB, kI2f, false,
     "I2F{fsource:75}{itype:74.1+84.2}{rnd:78} $d, $Bn{part:60.2+84.1}"},
    {0x112, kFormsB, kI2f, false,
     "I2F{fsource:75}{itype:74.1+84.2}{rnd:78} $d, $Bn{part:60.2+84.1}"},
    {0x045, kFormsB, kI2fp, false, "I2FP.F32{us32:74} $d, $Bn"},
    {0x107, kFormsB, kFrnd, false, "FRND{ftz:80}{fsource:75}{irnd:78} $d, $Bf"},
    {0x113, kFormsB, kFrnd, false, "FRND{ftz:80}{fsource:75}{irnd:78} $d, $Bf"},
};

}  // namespace

std::span<const Form> FloatForms() { return kFloatForms; }

}  // namespace eidolon::sass
